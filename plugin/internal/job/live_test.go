package job

import (
	"bashplugin/plugin/internal/output"
	"bytes"
	"fmt"
	"os"
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
	l := newLive(w, nil, nil)
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
	l := newLive(w, nil, nil)
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
	l := newLive(stdout, stderr, nil)
	for range liveBacklog / chunkSize {
		l.put(stdout, []byte("a"))
		l.put(stderr, []byte("b"))
	}
	l.mu.Lock()
	var memory int
	for _, c := range l.backlog.queue {
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

// What a reader that does take something leaves waiting is on disk, in order,
// past what memory holds.
func TestLiveWaitsOnDiskForAReaderThatIsBehind(t *testing.T) {
	logs := output.NewLogs(output.LogsConfig{Dir: t.TempDir()})
	w, errs := &stuck{gate: make(chan struct{}, 1)}, new(bytes.Buffer)
	w.gate <- struct{}{}
	l := newLive(w, errs, logs.NewSpool())
	first := strings.Repeat("x", 2<<20)
	l.put(w, []byte(first))
	for !l.idle() {
		<-l.moved
	}
	var want, wantErrs strings.Builder
	want.WriteString(first)
	for i := range 100 {
		part := strings.Repeat(fmt.Sprintln("part", i), 12<<10)
		l.put(w, []byte(part))
		want.WriteString(part)
		l.put(errs, []byte(part[:i]))
		wantErrs.WriteString(part[:i])
	}
	l.mu.Lock()
	assert.Positive(t, l.backlog.waiting)
	assert.Zero(t, l.skipped)
	l.mu.Unlock()
	close(w.gate)
	l.end()
	<-l.done
	assert.True(t, want.String() == w.String(), "everything came, in order")
	assert.Equal(t, wantErrs.String(), errs.String())
	entries, err := os.ReadDir(logs.Folder())
	assert.NoError(t, err)
	assert.Len(t, entries, 1, "only the session's own file")
}

// The disk has bounds, too.
func TestLiveOnDiskIsBounded(t *testing.T) {
	logs := output.NewLogs(output.LogsConfig{Dir: t.TempDir(), MaxSessionBytes: 3 << 20})
	w := &stuck{gate: make(chan struct{}, 1)}
	w.gate <- struct{}{}
	l := newLive(w, nil, logs.NewSpool())
	l.put(w, make([]byte, 2<<20))
	for !l.idle() {
		<-l.moved
	}
	for range 20 {
		l.put(w, make([]byte, 1<<20))
	}
	close(w.gate)
	l.end()
	<-l.done
	before, marker, found := strings.Cut(w.String(), "\n[… ")
	assert.True(t, found)
	skipped := 22<<20 - len(before)
	assert.Equal(t, fmt.Sprintf("%d bytes skipped …]\n", skipped), marker)
	assert.GreaterOrEqual(t, skipped, 9<<20, "more than memory and the session's bound hold")
}
