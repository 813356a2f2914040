package job

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"bashplugin/plugin/internal/output"
	"bashplugin/shared"
)

const (
	liveBacklog = 8 << 20 // bytes that wait in memory for the live copy's reader
	chunkSize   = 4 << 10 // memory of a chunk, at least

	// spoolBacklog bytes may wait on disk and, for each byte that the reader has
	// taken, spoolShare more. The first liveTransit do not count: the connection
	// takes them for a reader that is stuck. What exceeds that is left out.
	spoolBacklog = 16 << 20
	spoolShare   = 64
	liveTransit  = 1 << 20

	// spoolRest is how long the copy of what waits on disk rests for each time
	// that it takes, while the command goes on: it can wait, the command cannot.
	spoolRest = 2

	liveStall = 100 * time.Millisecond // how long settle waits for one write
	liveWait  = time.Second            // and for all of them
)

// live copies raw output to the writers of a request. One goroutine writes;
// put never waits for it. What the writers do not take at once waits in
// memory, then on disk.
type live struct {
	stdout, stderr io.Writer
	done           chan struct{} // the goroutine has ended
	moved          chan struct{} // after each write

	mu      sync.Mutex // guards what follows
	wake    *sync.Cond
	queue   []chunk
	size    int           // memory of queue
	spool   *output.Spool // frames that come after the queue
	spooled int64         // bytes in it; 0: new chunks go to the queue
	frame   []byte        // the last one, for its memory
	taken   int64         // bytes that the writers took
	skipped int64         // bytes left out since the last chunk
	writing bool          // a chunk is with its writer
	ended   bool          // nothing more comes
	failed  bool          // a writer returned an error
}

// chunk is some bytes for one writer.
type chunk struct {
	to   io.Writer
	text []byte
}

// newLive returns nil where there is nobody to copy to.
func newLive(stdout, stderr io.Writer, spool *output.Spool) *live {
	if stdout == nil && stderr == nil {
		return nil
	}
	l := &live{stdout: stdout, stderr: stderr, spool: spool, done: make(chan struct{}), moved: make(chan struct{}, 1)}
	l.wake = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// put queues a copy of p.
func (l *live) put(to io.Writer, p []byte) {
	if l == nil || to == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.failed {
		return
	}
	n := int64(len(p))
	if l.skipped > 0 {
		p = append(l.marker(), p...)
	}
	if l.add(to, p) {
		l.skipped = 0
		return
	}
	l.skipped += n
}

func (l *live) marker() []byte { return fmt.Appendf(nil, "\n[… %d bytes skipped …]\n", l.skipped) }

// add queues a copy of p, if there is room.
func (l *live) add(to io.Writer, p []byte) bool {
	if l.spooled > 0 || l.size+max(len(p), chunkSize) > liveBacklog {
		return l.addToSpool(to, p)
	}
	l.addToQueue(to, p)
	return true
}

// addToQueue adds to the last chunk, where that has room.
func (l *live) addToQueue(to io.Writer, p []byte) {
	last := len(l.queue) - 1
	if last < 0 || l.queue[last].to != to || len(l.queue[last].text)+len(p) > cap(l.queue[last].text) {
		l.queue = append(l.queue, chunk{to, make([]byte, 0, max(len(p), chunkSize))})
		last++
		l.size += cap(l.queue[last].text)
	}
	l.queue[last].text = append(l.queue[last].text, p...)
	l.wake.Signal()
}

// frameHeader is what a frame in the spool begins with: 1 for stderr, and the
// length.
const frameHeader = 5

func (l *live) addToSpool(to io.Writer, p []byte) bool {
	if l.spool == nil || l.spooled+int64(len(p)) > spoolBacklog+spoolShare*max(0, l.taken-liveTransit) {
		return false
	}
	which := byte(0)
	if to == l.stderr {
		which = 1
	}
	l.frame = binary.BigEndian.AppendUint32(append(l.frame[:0], which), uint32(len(p)))
	l.frame = append(l.frame, p...)
	n, err := l.spool.Write(l.frame)
	l.spooled += int64(n)
	l.wake.Signal()
	return err == nil
}

// unspool takes one frame out of the spool. put may go on beside it.
func (l *live) unspool() (chunk, error) {
	var header [frameHeader]byte
	if _, err := l.spool.Read(header[:]); err != nil {
		return chunk{}, err
	}
	c := chunk{to: l.stdout, text: make([]byte, binary.BigEndian.Uint32(header[1:]))}
	if header[0] == 1 {
		c.to = l.stderr
	}
	_, err := l.spool.Read(c.text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spooled -= frameHeader + int64(len(c.text)); l.spooled == 0 {
		l.spool.Reset()
		l.frame = nil
	}
	return c, err
}

// end says that nothing more comes.
func (l *live) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wake.Signal()
}

func (l *live) run() {
	defer close(l.done)
	defer l.tellEnd()
	defer l.closeSpool()
	for {
		c, ok := l.take()
		if !ok {
			return
		}
		start := time.Now()
		spooled := c.to == nil
		var err error
		if spooled {
			c, err = l.unspool()
		}
		if err == nil {
			_, err = c.to.Write(c.text)
		}
		if err != nil {
			l.fail()
			return
		}
		if l.wrote(len(c.text)) && spooled {
			time.Sleep(min(spoolRest*time.Since(start), maxRest))
		}
	}
}

func (l *live) closeSpool() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.spool != nil {
		l.spool.Close()
	}
}

// wrote reports whether more may come.
func (l *live) wrote(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	l.taken += int64(n)
	select {
	case l.moved <- struct{}{}:
	default:
	}
	return !l.ended
}

// fail gives the copy up: its reader does not want more.
func (l *live) fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed, l.queue, l.size = true, nil, 0
}

// take waits for the next chunk, or for the end. It returns an empty chunk
// where the next one is in the spool.
func (l *live) take() (chunk, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.isEmpty() && !l.ended {
		l.wake.Wait()
	}
	l.writing = true
	switch {
	case len(l.queue) > 0:
		c := l.queue[0]
		l.queue = l.queue[1:]
		l.size -= cap(c.text)
		return c, true
	case l.spooled > 0:
		return chunk{}, true
	case l.skipped > 0: // the last thing there is to say
		c := chunk{l.stdout, l.marker()}
		if c.to == nil {
			c.to = l.stderr
		}
		l.skipped = 0
		return c, true
	}
	return chunk{}, false
}

func (l *live) isEmpty() bool { return len(l.queue) == 0 && l.spooled == 0 }

// idle reports whether everything so far is written.
func (l *live) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed || l.isEmpty() && !l.writing
}

func (l *live) tellEnd() {
	for _, w := range []io.Writer{l.stdout, l.stderr} {
		if ender, ok := w.(shared.OutputEnder); ok {
			ender.EndOutput()
		}
	}
}

// settle waits until everything so far is written, as long as writes go on: a
// writer that is stuck holds nobody up for more than liveStall, a slow one for
// no more than liveWait.
func (l *live) settle() {
	if l == nil {
		return
	}
	timer, enough := time.NewTimer(liveStall), time.NewTimer(liveWait)
	defer timer.Stop()
	defer enough.Stop()
	for !l.idle() {
		select {
		case <-l.done:
			return
		case <-l.moved:
			timer.Reset(liveStall)
		case <-timer.C:
			return
		case <-enough.C:
			return
		}
	}
}
