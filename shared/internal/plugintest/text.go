//go:build unix

package plugintest

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Number parses what a command has printed.
func Number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	return n
}

// Numbers parses a list of pids.
func Numbers(t testing.TB, text string) []int {
	t.Helper()
	var all []int
	for field := range strings.FieldsSeq(text) {
		all = append(all, Number(t, field))
	}
	return all
}

// Seq is what the program of that name prints.
func Seq(from, to int) string {
	var text []byte
	for i := from; i <= to; i++ {
		text = strconv.AppendInt(text, int64(i), 10)
		text = append(text, '\n')
	}
	return string(text)
}

// Buffer is a log that a test may read while others write.
type Buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
