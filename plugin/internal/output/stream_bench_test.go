package output

import (
	"slices"
	"testing"

	"bashplugin/plugin/internal/bench/input"
)

// BenchmarkStream is the whole way from raw bytes to tail and log.
func BenchmarkStream(b *testing.B) {
	for _, in := range []struct {
		name string
		raw  []byte
	}{
		{"plain", input.BuildLog(64 << 20)},
		{"coloured", input.ColouredBuild(16 << 20)},
	} {
		b.Run(in.name, func(b *testing.B) {
			b.SetBytes(int64(len(in.raw)))
			b.ReportAllocs()
			for b.Loop() {
				logs := NewLogs(LogsConfig{Dir: b.TempDir(), Retention: -1})
				s := NewStream(StreamConfig{Logs: logs, Name: "log"})
				for chunk := range slices.Chunk(in.raw, 64<<10) {
					_, _ = s.Write(chunk)
				}
				_ = s.Close()
				_ = logs.Close()
			}
		})
	}
}
