package shared

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// closeWrites ends the writers that an implementation has got.
func closeWrites(writers ...io.Writer) {
	for _, w := range writers {
		if w != nil {
			_ = w.(interface{ CloseWrite() error }).CloseWrite()
		}
	}
}

// lockedBuffer is a writer that is read meanwhile.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A copy holds two goroutines and a stream. None of them outlives the copy,
// whether the implementation ends it, says nothing, or fails.
func TestNothingOfALiveCopyIsLeft(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		if _, err := io.WriteString(req.Stdout, req.Command); err != nil {
			return nil, err
		}
		switch req.Command {
		case "fails":
			return nil, ErrStart
		case "over":
			return &Result{PID: 1, Status: StatusCompleted}, nil
		}
		go func() {
			_, _ = io.WriteString(req.Stdout, " on")
			closeWrites(req.Stdout, req.Stderr)
		}()
		return &Result{PID: 1, Status: StatusRunning}, nil
	}}})
	before := runtime.NumGoroutine()
	for range 20 {
		for _, command := range []string{"fails", "over", "goes"} {
			var out, errs lockedBuffer
			r, err := c.Execute(t.Context(), ExecuteRequest{Command: command, Stdout: &out, Stderr: &errs})
			assert.Equal(t, command == "fails", err != nil)
			if r != nil && r.Status == StatusRunning {
				require.Eventually(t, func() bool { return out.String() == "goes on" }, guard, time.Millisecond)
			}
		}
	}
	require.Eventually(t, func() bool {
		runtime.GC() // of the writers that the implementation has let go
		return runtime.NumGoroutine() <= before+5
	}, guard, time.Millisecond)
}

func TestALosslessCallWaitsForItsWriter(t *testing.T) {
	t.Parallel()
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		assert.True(t, req.Lossless)
		_, err := io.WriteString(req.Stdout, "text")
		return &Result{PID: 1, Status: StatusCompleted}, err
	}}})
	for _, end := range []string{"the writer", "the context", "the timeout"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			w := &slowWriter{gate: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req := ExecuteRequest{Stdout: w, Lossless: true}
			if end == "the timeout" {
				req.Timeout = 3 * liveRest
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, err := c.Execute(ctx, req)
				assert.NoError(t, err)
			}()
			assert.False(t, isClosedWithin(done, 2*liveRest), "it waits longer than another call")
			switch end {
			case "the writer":
				close(w.gate)
			case "the context":
				cancel()
			}
			assert.True(t, isClosedWithin(done, guard))
			if end != "the writer" {
				close(w.gate)
			}
		})
	}
}

func TestManyLiveCopiesAtOnce(t *testing.T) {
	t.Parallel()
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		_, err := io.WriteString(req.Stdout, req.Command)
		return &Result{PID: 1, Stdout: Output{Content: strings.Repeat(req.Command, 50<<10)}}, err
	}}})
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			var live lockedBuffer
			command := string(rune('a' + i%26))
			r, err := c.Execute(t.Context(), ExecuteRequest{Command: command, Stdout: &live})
			if assert.NoError(t, err) {
				assert.Equal(t, command, live.String())
				assert.Equal(t, 50<<10, strings.Count(r.Stdout.Content, command))
			}
		})
	}
	calls.Wait()
}

// isClosedWithin waits for the end of a channel.
func isClosedWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
