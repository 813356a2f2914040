package output

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// The tests of the check_pid tool's output collector, under the names that they have
// there. A Stream is one: its tail is the rolling buffer, and it has a log from
// the first byte on that the tail has no room for.
func TestOutputCollector(t *testing.T) {
	t.Parallel()
	limits := shared.Limits{MaxLines: -1, MaxBytes: DefaultTail}
	lines := func(b string, size int) string { return strings.Repeat(strings.Repeat(b, 63)+"\n", size/64) }

	t.Run("collects small output in memory", func(t *testing.T) {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		write(t, s, "hello\n")
		write(t, s, "world\n")
		out := s.Show(limits, View{All: true})
		assert.Equal(t, "hello\nworld\n", out.Content)
		assert.EqualValues(t, 12, out.TotalBytes)
		assert.Empty(t, out.Path)
	})
	t.Run("rolling buffer keeps last maxBuf bytes", func(t *testing.T) {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		write(t, s, lines("a", DefaultTail*3/4))
		write(t, s, lines("b", DefaultTail*3/4))
		assert.LessOrEqual(t, len(s.tail.buf), DefaultTail)
		out := s.Show(limits, View{All: true})
		assert.Equal(t, lines("a", DefaultTail/4)+lines("b", DefaultTail*3/4), out.Content)
	})
	t.Run("offloads to file when threshold exceeded", func(t *testing.T) {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		write(t, s, lines("x", DefaultTail/2))
		assert.Empty(t, s.Show(limits, View{All: true}).Path, "it should not offload yet")
		write(t, s, lines("y", DefaultTail))
		assert.Equal(t, lines("x", DefaultTail/2)+lines("y", DefaultTail), logText(t, s.Show(limits, View{All: true})))
	})
	t.Run("file receives all subsequent writes", func(t *testing.T) {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		write(t, s, lines("a", 2*DefaultTail)) // makes the log
		write(t, s, lines("b", 2*DefaultTail))
		assert.Equal(t, lines("a", 2*DefaultTail)+lines("b", 2*DefaultTail), logText(t, s.Show(limits, View{All: true})))
	})
	t.Run("close flushes and closes file", func(t *testing.T) {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		write(t, s, lines("x", 2*DefaultTail)+"unfinished")
		require.NoError(t, s.Close())
		assert.Equal(t, lines("x", 2*DefaultTail)+"unfinished", logText(t, s.Show(limits, View{All: true})), "the file stays")
		require.NoError(t, s.Close(), "again")
	})
	t.Run("is safe for concurrent writes", func(t *testing.T) {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for range 100 {
					_, _ = s.Write([]byte("data\n"))
				}
			})
		}
		wg.Wait()
		out := s.Show(limits, View{All: true})
		assert.EqualValues(t, 5000, out.TotalBytes) // 10 * 100 * 5
		assert.Equal(t, strings.Repeat("data\n", 1000), out.Content)
	})
}
