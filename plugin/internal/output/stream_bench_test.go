package output

import (
	"slices"
	"strconv"
	"testing"

	"bashplugin/plugin/internal/bench/input"
	"bashplugin/shared"
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

// BenchmarkShortLog is the log of a command that writes a line.
func BenchmarkShortLog(b *testing.B) {
	logs := NewLogs(LogsConfig{Dir: b.TempDir(), Retention: -1})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s := NewStream(StreamConfig{Logs: logs, Name: strconv.Itoa(i)})
		s.Keep()
		_, _ = s.Write([]byte("text\n"))
		_ = s.Close()
		s.Show(shared.Limits{MaxLines: 10, MaxBytes: 100}, View{})
	}
	_ = logs.Close()
}
