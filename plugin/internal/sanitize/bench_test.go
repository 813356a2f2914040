package sanitize

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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

// hostile is output that costs as much as we know how: before, then unit again and again.
var hostile = []struct{ before, unit string }{
	{strings.Repeat("x", 60_000) + "\b\b", "\x1b[1K"},
	{strings.Repeat("x", 60_000) + "\b\b", "\b\x1b[1K"},
	{strings.Repeat("x", 60_000), "\rx\x1b[59000G\x1b[1K"},
	{strings.Repeat("\t", 8_000) + "\b\b", "\x1b[2Kx"},
	{strings.Repeat("語", 30_000) + "\b\b", "\x1b[1Kx"},
	{strings.Repeat("x", 60_000), "\x1b[2K\u0301"},
	{"", "\x1b[500G\x1b[1Kx"},
	{"", "\rx\x1b[500G\x1b[1K"},
	{"", "x\x1b[512Gx\n"},
	{"", "\x1b[512Gx\n"},
	{"", strings.Repeat("\t", 700) + "\b\b" + strings.Repeat("x\x1b[1K", 180) + "\n"},
	{"x\r", "\t"},
	{"x\r", "👩\u200d💻"},
	{"x\r", "\u0301"},
	{"x\r", "\xc3"},
	{"", "\xff"},
	{"", "\x9b"},
	{"", "\x1b[" + strings.Repeat("1;", 1000)},
	{"", "\x1b]0;"},
}

// BenchmarkHostile is for comparison with BenchmarkSanitizer/progress.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		b.Run(fmt.Sprintf("%d bytes, %.30q", len(h.before), h.unit), func(b *testing.B) {
			chunk := bytes.Repeat([]byte(h.unit), 64<<10/len(h.unit))
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			z := New(discard{})
			_, _ = z.Write([]byte(h.before))
			for b.Loop() {
				_, _ = z.Write(chunk)
			}
		})
	}
}
