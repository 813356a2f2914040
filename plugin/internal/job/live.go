package job

import (
	"context"
	"fmt"
	"io"
	"sync"
)

const (
	liveBuffer = 8 << 20   // bytes that may wait for one writer
	liveKept   = 256 << 10 // a larger buffer is freed once it is empty
)

// liveCopy copies the raw bytes of one stream to a writer of its request. Its
// goroutine (run) writes; bytes that the writer has not taken yet wait in memory.
// A stream without a writer has a nil liveCopy, which does nothing.
//
//	source ► put ► waiting ► run ► to
type liveCopy struct {
	to io.Writer

	// turn is held during a Write. All copies of a job share it.
	turn *sync.Mutex

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	waiting []byte
	gap     int64 // bytes skipped after those in waiting
	skipped int64 // bytes skipped so far

	// busy is set while run holds bytes that are not written yet.
	busy bool

	// lossless makes the command wait while the buffer is full.
	lossless bool

	// closed is set when nothing more comes, or when the writer has failed.
	closed bool
}

// newLiveCopies makes a job's copies. The copy for a nil writer is nil. The caller starts
// run of the others.
func newLiveCopies(stdout, stderr io.Writer, lossless bool) (out, errs *liveCopy) {
	turn := new(sync.Mutex)
	return newLiveCopy(stdout, turn, lossless), newLiveCopy(stderr, turn, lossless)
}

func newLiveCopy(to io.Writer, turn *sync.Mutex, lossless bool) *liveCopy {
	if to == nil {
		return nil
	}
	c := &liveCopy{to: to, turn: turn, lossless: lossless}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// ready waits for room in the buffer of a lossless copy.
func (c *liveCopy) ready() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.lossless && len(c.waiting) >= liveBuffer && !c.closed {
		c.changed.Wait()
	}
}

// put adds p to the buffer, or skips it if the buffer is full.
func (c *liveCopy) put(p []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
	case !c.lossless && len(c.waiting)+len(p) > liveBuffer:
		c.gap += int64(len(p))
		c.skipped += int64(len(p))
	default:
		c.closeGapLocked()
		c.waiting = append(c.waiting, p...)
		c.changed.Broadcast()
	}
}

// closeGapLocked puts a line in place of the skipped bytes.
func (c *liveCopy) closeGapLocked() {
	if c.gap > 0 {
		c.waiting = fmt.Appendf(c.waiting, "\n[… %d bytes skipped …]\n", c.gap)
		c.gap = 0
	}
}

// close ends the copy once the writer has everything.
func (c *liveCopy) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
}

// missed returns how many bytes the writer has missed so far.
func (c *liveCopy) missed() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipped
}

func (c *liveCopy) run() {
	defer c.fail() // if the writer panics, others must not wait for it
	var part []byte
	for {
		part = c.take(part)
		if len(part) == 0 {
			break
		}
		err := c.write(part)
		if err != nil {
			c.fail()
		}
	}
	if closer, ok := c.to.(interface{ CloseWrite() error }); ok {
		_ = closer.CloseWrite()
	}
}

func (c *liveCopy) write(part []byte) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	_, err := c.to.Write(part)
	return err
}

// take waits for bytes and returns them. It returns none if the copy has ended. It reuses
// the memory of before, the part that was written last.
func (c *liveCopy) take(before []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	c.changed.Broadcast()
	for len(c.waiting) == 0 && c.gap == 0 && !c.closed {
		c.changed.Wait()
	}
	c.closeGapLocked()
	part := c.waiting
	c.waiting = nil
	if cap(before) <= liveKept {
		c.waiting = before[:0]
	}
	c.busy = len(part) > 0
	c.changed.Broadcast() // there is room
	return part
}

// fail ends the copy to a writer that has failed.
func (c *liveCopy) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = nil
	c.gap = 0
	c.busy = false
	c.closed = true
	c.changed.Broadcast()
}

// await waits until the writer has everything, or until ctx ends. From then on a
// lossless copy skips bytes instead of making the command wait.
func (c *liveCopy) await(ctx context.Context) {
	if c == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for (len(c.waiting) > 0 || c.gap > 0 || c.busy) && ctx.Err() == nil {
		c.changed.Wait()
	}
	c.lossless = false
	c.changed.Broadcast()
}

// AwaitLive waits until the live writers have all output so far, or until ctx
// ends. From then on a lossless copy skips bytes, too.
func (j *Job) AwaitLive(ctx context.Context) {
	for _, c := range j.copies {
		c.await(ctx)
	}
}
