package output

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// A log that reaches its bound while more is coming ends with a whole rune, however
// the blocks fall.
func TestALogOfWideRunesEndsWithAWholeOne(t *testing.T) {
	t.Parallel()
	for blocks := int64(2); blocks < 12; blocks++ { // a write ends at some of these bounds
		bound := blocks * blockSize
		logs := NewLogs(LogsConfig{Dir: t.TempDir(), MaxBytes: bound})
		s := NewStream(StreamConfig{Logs: logs, Name: "log"})
		text := []byte(strings.Repeat("x世\n", 200_000))
		for len(text) > 0 {
			n, err := s.Write(text[:min(len(text), 70_001)])
			require.NoError(t, err)
			text = text[n:]
		}
		require.NoError(t, s.Close())
		out := s.Show(shared.Limits{MaxLines: 10, MaxBytes: 100}, View{All: true})
		assert.Contains(t, out.PathError, "may hold")
		kept, err := os.ReadFile(out.Path)
		require.NoError(t, err)
		assert.True(t, utf8.Valid(kept))
		assert.Greater(t, int64(len(kept)), bound-4)
		require.NoError(t, logs.Close())
	}
}
