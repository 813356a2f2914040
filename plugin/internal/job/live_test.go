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

const guard = time.Minute // against a test that hangs

// valve is a writer that takes nothing until it is opened.
type valve struct {
	open   chan struct{}
	closed chan struct{} // CloseWrite was called
	fails  bool

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// startLiveCopies starts the goroutines as a Job does.
func startLiveCopies(stdout, stderr io.Writer, lossless bool) (out, errs *liveCopy) {
	out, errs = newLiveCopies(stdout, stderr, lossless)
	for _, c := range []*liveCopy{out, errs} {
		if c != nil {
			go c.run()
		}
	}
	return out, errs
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
	o, e := startLiveCopies(out, errs, false)
	var want strings.Builder
	for i := range 1000 {
		text := strings.Repeat("x", i) + "\n"
		o.put([]byte(text))
		e.put([]byte("err\n"))
		want.WriteString(text)
	}
	o.close()
	e.close()
	out.await(t)
	errs.await(t)
	assert.Equal(t, want.String(), out.text.String())
	assert.Equal(t, strings.Repeat("err\n", 1000), errs.text.String())
}

func TestABufferIsBounded(t *testing.T) {
	t.Parallel()
	w := newValve()
	c, _ := startLiveCopies(w, nil, false)
	line := []byte(strings.Repeat("y", 99) + "\n")
	for range 3 * liveBuffer / len(line) {
		c.put(line)
	}
	c.mu.Lock()
	assert.LessOrEqual(t, len(c.waiting), liveBuffer)
	c.mu.Unlock()
	missed := c.missed()
	assert.Positive(t, missed)
	c.close()
	close(w.open)
	w.await(t)
	assert.Equal(t, 3*liveBuffer/len(line)*len(line), int(missed)+strings.Count(w.text.String(), string(line))*len(line))
	assert.Contains(t, w.text.String(), "bytes skipped …]\n")
}

func TestALosslessCopyHoldsItsSourceUp(t *testing.T) {
	t.Parallel()
	w := newValve()
	c, _ := startLiveCopies(w, nil, true)
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
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.waiting) >= liveBuffer
	}, guard, time.Millisecond)
	close(w.open)
	<-put
	c.close()
	w.await(t)
	assert.Equal(t, 3*liveBuffer, w.text.Len())
	assert.Zero(t, c.missed())
}

func TestSettlingALosslessCopyLetsItsSourceGo(t *testing.T) {
	t.Parallel()
	w := newValve()
	defer close(w.open)
	c, _ := startLiveCopies(w, nil, true)
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
	c.await(ctx)
	<-went
}

func TestAWriterThatFailsGetsNoMore(t *testing.T) {
	t.Parallel()
	bad, good := newValve(), newValve()
	bad.fails = true
	close(bad.open)
	close(good.open)
	b, g := startLiveCopies(bad, good, true)
	for range 100 {
		b.put([]byte("bad"))
		g.put([]byte("good"))
	}
	b.await(t.Context())
	g.await(t.Context())
	b.ready() // does not wait
	g.close()
	good.await(t)
	bad.await(t)
	assert.Equal(t, strings.Repeat("good", 100), good.text.String())
}

// The writers of one job never get two Writes at a time.
func TestOneWriteAtATime(t *testing.T) {
	t.Parallel()
	var w unguarded
	o, e := startLiveCopies(&w, &w, false)
	for range 1000 {
		o.put([]byte("o"))
		e.put([]byte("e"))
	}
	for _, c := range []*liveCopy{o, e} {
		c.await(t.Context())
		c.close()
	}
	assert.Equal(t, 2000, len(w))
}

// unguarded is a writer that the race detector watches.
type unguarded []byte

func (u *unguarded) Write(p []byte) (int, error) {
	*u = append(*u, p...)
	return len(p), nil
}

func TestNoWriterNoCopy(t *testing.T) {
	t.Parallel()
	o, e := startLiveCopies(nil, nil, false)
	o.ready()
	o.put([]byte("text"))
	e.await(t.Context())
	e.close()
	assert.Nil(t, o)
	o, e = startLiveCopies(io.Discard, nil, false)
	assert.NotNil(t, o)
	assert.Nil(t, e)
	o.close()
}
