package job

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	liveBuffer = 8 << 20 // bounds the memory of what waits for one writer
	smallChunk = 4 << 10 // memory of a chunk that begins with less than this
)

// live copies a command's raw output to the writers of its request. One
// goroutine writes; bytes that the writers have not taken yet wait in a queue.
//
//	source ► liveCopy.put ► queue ► run ► writer
type live struct {
	moved chan struct{} // gets a value after each write
	done  chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex // guards what follows, and the copies
	changed  *sync.Cond
	copies   []*liveCopy
	queue    []*chunk // in the order in which it was written
	writing  bool     // a chunk is with its writer
	lossless bool     // a full buffer holds the command up
	ended    bool     // nothing more comes
}

// liveCopy is the copy of one stream. A nil one, of a stream that has no
// writer, does nothing.
type liveCopy struct {
	live *live
	to   io.Writer

	// Guarded by live.mu.
	queued  int   // memory of its chunks in the queue
	gap     int64 // bytes skipped since the last that were queued
	skipped int64 // bytes skipped so far
	closed  bool  // to has failed, or nothing more comes
}

// chunk is a part of a copy.
type chunk struct {
	of   *liveCopy
	text []byte
	lent *[bufferSize]byte // the memory of text; nil: it is text's own
}

// newLive begins a copy to up to two writers, either of which may be nil. It
// returns a nil live where both are.
func newLive(stdout, stderr io.Writer, lossless bool) (l *live, out, errs *liveCopy) {
	if stdout == nil && stderr == nil {
		return nil, nil, nil
	}
	l = &live{moved: make(chan struct{}, 1), done: make(chan struct{}), lossless: lossless}
	l.changed = sync.NewCond(&l.mu)
	if stdout != nil {
		out = &liveCopy{live: l, to: stdout}
		l.copies = append(l.copies, out)
	}
	if stderr != nil {
		errs = &liveCopy{live: l, to: stderr}
		l.copies = append(l.copies, errs)
	}
	go l.run()
	return l, out, errs
}

// ready waits for room in the buffer of a lossless copy.
func (c *liveCopy) ready() {
	if c == nil {
		return
	}
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	for c.live.lossless && c.queued >= liveBuffer && !c.closed {
		c.live.changed.Wait()
	}
}

// put queues a copy of p, or skips it where the buffer is full.
func (c *liveCopy) put(p []byte) {
	if c == nil {
		return
	}
	l := c.live
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.closed:
		return
	case !l.lossless && c.queued+len(p) > liveBuffer:
		c.gap += int64(len(p))
		c.skipped += int64(len(p))
		return
	}
	c.closeGapLocked()
	c.queueLocked(p)
	l.changed.Broadcast()
}

// closeGapLocked queues a line in place of the bytes that were skipped.
func (c *liveCopy) closeGapLocked() {
	if c.gap > 0 {
		c.queueLocked(fmt.Appendf(nil, "\n[… %d bytes skipped …]\n", c.gap))
		c.gap = 0
	}
}

func (c *liveCopy) queueLocked(p []byte) {
	for len(p) > 0 {
		part := c.lastLocked()
		if part == nil {
			part = newChunk(c, len(p))
			c.live.queue = append(c.live.queue, part)
			c.queued += cap(part.text)
		}
		n := min(len(p), cap(part.text)-len(part.text))
		part.text = append(part.text, p[:n]...)
		p = p[n:]
	}
}

// lastLocked returns the last chunk in the queue if it is of this copy and has
// room, nil otherwise.
func (c *liveCopy) lastLocked() *chunk {
	if n := len(c.live.queue); n > 0 {
		if last := c.live.queue[n-1]; last.of == c && len(last.text) < cap(last.text) {
			return last
		}
	}
	return nil
}

// newChunk returns an empty chunk for at least some of size bytes.
func newChunk(c *liveCopy, size int) *chunk {
	if size < smallChunk {
		return &chunk{of: c, text: make([]byte, 0, smallChunk)}
	}
	lent := buffers.Get().(*[bufferSize]byte)
	return &chunk{of: c, text: lent[:0], lent: lent}
}

// close says that nothing more comes.
func (c *liveCopy) close() {
	if c == nil {
		return
	}
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	c.closeGapLocked()
	c.closed = true
	c.live.changed.Broadcast()
}

// missed returns how many bytes the writer has missed so far.
func (c *liveCopy) missed() int64 {
	if c == nil {
		return 0
	}
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	return c.skipped
}

func (l *live) run() {
	defer close(l.done)
	for part := l.take(); part != nil; part = l.take() {
		_, err := part.of.to.Write(part.text)
		l.took(part, err)
	}
	for _, c := range l.copies {
		if closer, ok := c.to.(interface{ CloseWrite() error }); ok {
			_ = closer.CloseWrite()
		}
	}
}

// take waits for a chunk and returns it; nil: there is none any more.
func (l *live) take() *chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.ended {
		l.changed.Wait()
	}
	if len(l.queue) == 0 {
		return nil
	}
	part := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.writing = true
	return part
}

// took takes note that a chunk was written. A writer that failed gets no more.
func (l *live) took(part *chunk, err error) {
	l.mu.Lock()
	l.writing = false
	part.of.queued -= cap(part.text)
	if err != nil {
		part.of.closed = true
		l.dropLocked(part.of)
	}
	if len(l.queue) == 0 {
		for _, c := range l.copies { // a gap that no further output has closed
			c.closeGapLocked()
		}
	}
	l.changed.Broadcast()
	l.mu.Unlock()
	if part.lent != nil {
		buffers.Put(part.lent)
	}
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

// dropLocked takes the rest of a copy out of the queue.
func (l *live) dropLocked(c *liveCopy) {
	var rest []*chunk
	for _, part := range l.queue {
		if part.of != c {
			rest = append(rest, part)
		}
	}
	l.queue, c.queued = rest, 0
	c.gap = 0
}

// settle waits until the writers have everything, at most for rest and, unless
// that has ended already, until the end of ctx. From then on the copy skips
// instead of holding the command up.
func (l *live) settle(ctx context.Context, rest time.Duration) {
	if l == nil {
		return
	}
	over := ctx.Done()
	if ctx.Err() != nil {
		over = nil
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	for waiting := true; waiting && !l.isEmpty(); {
		select {
		case <-l.moved:
		case <-l.done:
			waiting = false
		case <-over:
			waiting = false
		case <-timer.C:
			waiting = false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lossless = false
	l.changed.Broadcast()
}

func (l *live) isEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0 && !l.writing
}

// end says that nothing more comes of any stream.
func (l *live) end() {
	if l == nil {
		return
	}
	for _, c := range l.copies {
		c.close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed.Broadcast()
}
