package job

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// stuck is a writer that takes nothing until it is told to.
type stuck struct {
	bytes.Buffer
	gate chan struct{}
}

func (w *stuck) Write(p []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(p)
}

func TestLiveKeepsABacklogForASlowReader(t *testing.T) {
	w := &stuck{gate: make(chan struct{})}
	l := newLive(w, nil)
	text := strings.Repeat("0123456789abcde\n", liveBacklog/16/2)
	for part := range strings.Lines(text) {
		l.put(w, []byte(part))
	}
	close(w.gate)
	l.end()
	<-l.done
	assert.Equal(t, text, w.String())
}

func TestLiveCountsWhatItLeavesOut(t *testing.T) {
	w := &stuck{gate: make(chan struct{})}
	l := newLive(w, nil)
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		l.put(w, part)
	}
	close(w.gate)
	l.end()
	<-l.done
	var skipped int
	before, marker, found := strings.Cut(w.String(), "\n[… ")
	assert.True(t, found)
	_, err := fmt.Sscanf(marker, "%d bytes skipped …]\n", &skipped)
	assert.NoError(t, err)
	assert.Equal(t, 20<<20, len(before)+skipped)
	assert.GreaterOrEqual(t, len(before), liveBacklog)
}

func TestLiveIsBoundedWhateverTheSizeOfTheWrites(t *testing.T) {
	stdout, stderr := &stuck{gate: make(chan struct{})}, &stuck{gate: make(chan struct{})}
	l := newLive(stdout, stderr)
	for range liveBacklog / chunkSize {
		l.put(stdout, []byte("a"))
		l.put(stderr, []byte("b"))
	}
	l.mu.Lock()
	var memory int
	for _, c := range l.queue {
		memory += cap(c.text)
	}
	assert.LessOrEqual(t, memory, liveBacklog)
	assert.Positive(t, l.skipped)
	l.mu.Unlock()
	close(stdout.gate)
	close(stderr.gate)
	l.end()
	<-l.done
}
