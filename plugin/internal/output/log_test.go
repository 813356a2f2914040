package output

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A log is written from one multiple of blockSize to the next, also after a
// pause, and never half a rune.
func TestLogIsWrittenInWholeBlocks(t *testing.T) {
	logs := NewLogs(LogsConfig{Dir: t.TempDir()})
	defer logs.Close()
	log, err := logs.create("log")
	require.NoError(t, err)
	want := strings.Repeat("世界 a\n", 200_000)
	var flushed int64
	blocks := 0
	for rest := want; rest != ""; {
		n := cutRune([]byte(rest), 70_000)
		log.write([]byte(rest[:n]))
		rest = rest[n:]
		if len(rest)%5 == 0 {
			log.flush()
			flushed = log.size.Load()
			continue
		}
		log.wait()
		size := log.size.Load()
		if size == flushed {
			continue
		}
		blocks++
		assert.Less(t, (blockSize-size%blockSize)%blockSize, int64(utf8.UTFMax), "after %d bytes", size)
		text, err := os.ReadFile(log.path)
		require.NoError(t, err)
		assert.True(t, utf8.Valid(text))
	}
	assert.Greater(t, blocks, 3)
	log.close()
	text, err := os.ReadFile(log.path)
	require.NoError(t, err)
	assert.True(t, want == string(text))
}
