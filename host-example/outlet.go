package main

import (
	"context"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// oneStream reports whether stdout and stderr go to the same place, as with a
// terminal: merged by the command, they keep their order.
func oneStream() bool {
	out, err := os.Stdout.Stat()
	if err != nil {
		return false
	}
	other, err := os.Stderr.Stat()
	return err == nil && os.SameFile(out, other)
}

// outlet takes the live output of one stream. It may be slow, as a pager is:
// drain waits until everything has come through.
type outlet struct {
	to     io.Writer
	failed func(error) // is told of the first write that fails; nil: nobody is

	ended chan struct{} // nothing more comes
	moved chan struct{} // after each write
	busy  atomic.Int32  // writes under way
	over  atomic.Bool   // nothing more is let through
	bytes atomic.Int64  // let through
	lacks atomic.Bool   // the live copy says that it left bytes out

	mu      sync.Mutex // held during a write; guards what follows
	err     error      // of the first write that failed
	skipped skipWatch
}

func newOutlet(to io.Writer, failed func(error)) *outlet {
	return &outlet{to: to, failed: failed, ended: make(chan struct{}), moved: make(chan struct{}, 1)}
}

// Write fails for good after the first failure, which ends the live copy.
func (o *outlet) Write(p []byte) (int, error) {
	o.busy.Add(1)
	defer o.busy.Add(-1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over.Load() {
		return 0, io.ErrClosedPipe
	}
	if o.err != nil {
		return 0, o.err
	}
	o.skipped.look(p)
	o.lacks.Store(o.skipped.seen)
	n, err := o.to.Write(p)
	o.bytes.Add(int64(n))
	if o.err = err; err != nil && o.failed != nil {
		o.failed(err)
	}
	select {
	case o.moved <- struct{}{}:
	default:
	}
	return n, err
}

// EndOutput implements shared.OutputEnder.
func (o *outlet) EndOutput() { close(o.ended) }

// shut lets nothing more through. It does not wait for a write under way.
func (o *outlet) shut() { o.over.Store(true) }

// failure returns the error of the first write that failed.
func (o *outlet) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// hasSkipped reports whether the live copy says that it left bytes out. It does
// not wait for a write that is stuck.
func (o *outlet) hasSkipped() bool { return o.lacks.Load() }

// drain waits for the end of the output, however slow its reader is. Where
// nobody tells of an end, as with a command that left something running,
// nothing to write for as long as quiet counts as one. It reports whether there
// was one before that of ctx.
func (o *outlet) drain(ctx context.Context, quiet time.Duration) bool {
	return o.reach(ctx, math.MaxInt64, quiet)
}

// looks is how often reach looks within quiet: a process that was stopped between
// two looks has not waited longer for that.
const looks = 10

// reach is drain up to a number of bytes.
func (o *outlet) reach(ctx context.Context, bytes int64, quiet time.Duration) bool {
	look := time.NewTicker(quiet / looks)
	defer look.Stop()
	for idle := 0; idle < looks && o.bytes.Load() < bytes; {
		select {
		case <-o.ended:
			return true
		case <-ctx.Done():
			return false
		case <-o.moved:
			idle = 0
		case <-look.C:
			idle++
			if o.busy.Load() > 0 {
				idle = 0
			}
		}
	}
	return true
}
