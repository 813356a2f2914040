package sanitize

import (
	"bytes"
	"slices"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"bashplugin/plugin/internal/bench/input"
)

// BenchmarkSanitizer compares with a copy of the same bytes and with a strip
// of the escape sequences alone, of the whole text at once.
func BenchmarkSanitizer(b *testing.B) {
	for _, in := range []struct {
		name string
		raw  []byte
	}{
		{"plain", input.BuildLog(64 << 20)}, // larger than the caches, as real output is
		{"coloured", input.ColouredBuild(4 << 20)},
		{"progress", input.ProgressBar(4 << 20)},
		{"blocks", input.BlockBar(4 << 20)},
		{"cjk", input.CJK(4 << 20)},
		{"binary", input.Binary(4 << 20)},
		{"NULs", make([]byte, 4<<20)},
		{"halves of runes", bytes.Repeat([]byte{0xc3}, 4<<20)},
	} {
		run := func(name string, do func()) {
			b.Run(in.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(in.raw)))
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			})
		}
		z := New(discard{})
		run("sanitizer", func() {
			for chunk := range slices.Chunk(in.raw, 64<<10) {
				_, _ = z.Write(chunk)
			}
		})
		text, dst := string(in.raw), make([]byte, len(in.raw))
		run("ansi.Strip", func() { _ = ansi.Strip(text) })
		run("copy", func() { copy(dst, in.raw) })
	}
}
