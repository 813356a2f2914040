package job

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const guard = 20 * time.Second // against a test that hangs

// valve is a writer that takes nothing until it is opened.
type valve struct {
	open   chan struct{}
	closed chan struct{} // CloseWrite was called
	fails  bool

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func newValve() *valve { return &valve{open: make(chan struct{}), closed: make(chan struct{})} }

func (v *valve) Write(p []byte) (int, error) {
	<-v.open
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fails {
		return 0, errors.New("no more")
	}
	return v.text.Write(p)
}

func (v *valve) CloseWrite() error {
	close(v.closed)
	return nil
}

func (v *valve) await(t *testing.T) {
	t.Helper()
	select {
	case <-v.closed:
	case <-time.After(guard):
		require.FailNow(t, "the copy does not end")
	}
}

func TestACopyIsInOrderAndEnds(t *testing.T) {
	t.Parallel()
	out, errs := newValve(), newValve()
	close(out.open)
	close(errs.open)
	l, o, e := newLive(out, errs, false)
	var want strings.Builder
	for i := range 1000 {
		text := strings.Repeat("x", i) + "\n"
		o.put([]byte(text))
		e.put([]byte("err\n"))
		want.WriteString(text)
	}
	l.end()
	out.await(t)
	errs.await(t)
	assert.Equal(t, want.String(), out.text.String())
	assert.Equal(t, strings.Repeat("err\n", 1000), errs.text.String())
}

func TestABufferIsBounded(t *testing.T) {
	t.Parallel()
	w := newValve()
	l, c, _ := newLive(w, nil, false)
	line := []byte(strings.Repeat("y", 99) + "\n")
	for range 2 * liveBuffer / len(line) {
		c.put(line)
	}
	l.mu.Lock()
	assert.LessOrEqual(t, c.queued, liveBuffer+bufferSize)
	l.mu.Unlock()
	missed := c.missed()
	assert.Positive(t, missed)
	l.end()
	close(w.open)
	w.await(t)
	assert.Equal(t, 2*liveBuffer/len(line)*len(line), int(missed)+strings.Count(w.text.String(), string(line))*len(line))
	assert.Contains(t, w.text.String(), "bytes skipped …]\n")
}

// Many small writes of two streams, in turns, do not take more memory than one
// large one.
func TestSmallWritesAreBounded(t *testing.T) {
	t.Parallel()
	out, errs := newValve(), newValve()
	l, o, e := newLive(out, errs, false)
	for range 10000 {
		o.put([]byte("o"))
		e.put([]byte("e"))
	}
	l.mu.Lock()
	assert.LessOrEqual(t, len(l.queue)*smallChunk, 2*liveBuffer)
	l.mu.Unlock()
	close(out.open)
	close(errs.open)
	l.end()
	out.await(t)
}

func TestALosslessCopyHoldsItsSourceUp(t *testing.T) {
	t.Parallel()
	w := newValve()
	l, c, _ := newLive(w, nil, true)
	chunk := make([]byte, bufferSize)
	put := make(chan struct{})
	go func() {
		defer close(put)
		for range 3 * liveBuffer / bufferSize {
			c.ready()
			c.put(chunk)
		}
	}()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return c.queued >= liveBuffer
	}, guard, time.Millisecond)
	close(w.open)
	<-put
	l.end()
	w.await(t)
	assert.Equal(t, 3*liveBuffer, w.text.Len())
	assert.Zero(t, c.missed())
}

func TestSettlingALosslessCopyLetsItsSourceGo(t *testing.T) {
	t.Parallel()
	w := newValve()
	defer close(w.open)
	l, c, _ := newLive(w, nil, true)
	for range 2 * liveBuffer / bufferSize {
		c.put(make([]byte, bufferSize))
	}
	went := make(chan struct{})
	go func() {
		c.ready()
		close(went)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.settle(ctx, time.Millisecond)
	<-went
}

func TestAWriterThatFailsGetsNoMore(t *testing.T) {
	t.Parallel()
	bad, good := newValve(), newValve()
	bad.fails = true
	close(bad.open)
	close(good.open)
	l, b, g := newLive(bad, good, false)
	for range 100 {
		b.put([]byte("bad"))
		g.put([]byte("good"))
	}
	l.settle(t.Context(), guard)
	b.ready() // does not wait
	l.end()
	good.await(t)
	assert.Equal(t, strings.Repeat("good", 100), good.text.String())
}

func TestNoWriterNoCopy(t *testing.T) {
	t.Parallel()
	l, o, e := newLive(nil, nil, false)
	o.ready()
	o.put([]byte("text"))
	e.close()
	l.settle(t.Context(), guard)
	l.end()
	assert.Nil(t, l)
	l, o, e = newLive(io.Discard, nil, false)
	assert.NotNil(t, o)
	assert.Nil(t, e)
	l.end()
}
