package output

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// A panic of the sanitizer holds up nobody else who uses the stream.
func TestAPanicLeavesNoLock(t *testing.T) {
	t.Parallel()
	limits := shared.Limits{MaxLines: 1, MaxBytes: 1}
	for name, call := range map[string]func(*Stream){
		"Write":   func(s *Stream) { _, _ = s.Write([]byte("x")) },
		"Show":    func(s *Stream) { s.Show(limits, View{}) },
		"Outline": func(s *Stream) { s.Outline() },
		"Match":   func(s *Stream) { s.Watch(regexp.MustCompile("x"), true).Match() },
		"Close":   func(s *Stream) { _ = s.Close() },
		"sync":    func(s *Stream) { s.sync() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := NewLogs(LogsConfig{Dir: t.TempDir()})
			s := NewStream(StreamConfig{Logs: logs, Name: "log"})
			_, _ = s.Write([]byte("line\nmore"))
			s.Keep()
			s.san = nil // so that each use of it panics
			assert.Panics(t, func() { call(s) })
			require.True(t, s.mu.TryLock())
			s.mu.Unlock()
			s.mu.Lock()
			log := s.log
			s.mu.Unlock()
			require.True(t, log.disk.TryLock())
			log.disk.Unlock()
			require.NoError(t, logs.Close())
		})
	}
}
