package job

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bashplugin/shared"
)

const (
	liveBacklog = 8 << 20 // bytes waiting for the live copy's reader; past it they are left out
	chunkSize   = 4 << 10 // memory of a chunk, at least
	liveStall   = 100 * time.Millisecond
)

// live copies raw output to the writers of a request. One goroutine writes;
// put never waits for it.
type live struct {
	stdout, stderr io.Writer
	done           chan struct{} // the goroutine has ended
	moved          chan struct{} // after each write

	mu      sync.Mutex // guards what follows
	wake    *sync.Cond
	queue   []chunk
	size    int   // memory of queue
	skipped int64 // bytes left out since the last chunk in queue
	writing bool  // a chunk is with its writer
	ended   bool  // nothing more comes
	failed  bool  // a writer returned an error
}

// chunk is some bytes for one writer.
type chunk struct {
	to   io.Writer
	text []byte
}

// newLive returns nil where there is nobody to copy to.
func newLive(stdout, stderr io.Writer) *live {
	if stdout == nil && stderr == nil {
		return nil
	}
	l := &live{stdout: stdout, stderr: stderr, done: make(chan struct{}), moved: make(chan struct{}, 1)}
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
	if l.size+max(len(p), chunkSize) > liveBacklog {
		l.skipped += int64(len(p))
		return
	}
	if l.skipped > 0 {
		l.add(to, fmt.Appendf(nil, "\n[… %d bytes skipped …]\n", l.skipped))
		l.skipped = 0
	}
	l.add(to, p)
}

// add queues a copy of p: in the last chunk, where that has room.
func (l *live) add(to io.Writer, p []byte) {
	last := len(l.queue) - 1
	if last < 0 || l.queue[last].to != to || len(l.queue[last].text)+len(p) > cap(l.queue[last].text) {
		l.queue = append(l.queue, chunk{to, make([]byte, 0, max(len(p), chunkSize))})
		last++
		l.size += cap(l.queue[last].text)
	}
	l.queue[last].text = append(l.queue[last].text, p...)
	l.wake.Signal()
}

// end says that nothing more comes.
func (l *live) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.skipped > 0 && !l.ended {
		to := l.stdout
		if to == nil {
			to = l.stderr
		}
		l.add(to, fmt.Appendf(nil, "\n[… %d bytes skipped …]\n", l.skipped))
		l.skipped = 0
	}
	l.ended = true
	l.wake.Signal()
}

func (l *live) run() {
	defer close(l.done)
	defer l.tellEnd()
	for {
		c, ok := l.take()
		if !ok {
			return
		}
		if _, err := c.to.Write(c.text); err != nil {
			l.fail()
			return
		}
		l.wrote()
	}
}

func (l *live) wrote() {
	l.mu.Lock()
	l.writing = false
	l.mu.Unlock()
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

// fail gives the copy up: its reader does not want more.
func (l *live) fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed, l.queue, l.size = true, nil, 0
}

// take waits for the next chunk, or for the end.
func (l *live) take() (chunk, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.ended {
		l.wake.Wait()
	}
	if len(l.queue) == 0 {
		return chunk{}, false
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	l.size -= cap(c.text)
	l.writing = true
	return c, true
}

// idle reports whether everything so far is written.
func (l *live) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed || len(l.queue) == 0 && !l.writing
}

func (l *live) tellEnd() {
	for _, w := range []io.Writer{l.stdout, l.stderr} {
		if ender, ok := w.(shared.OutputEnder); ok {
			ender.EndOutput()
		}
	}
}

// settle waits until everything so far is written, as long as writes go on: a
// writer that is stuck holds nobody up for more than liveStall.
func (l *live) settle() {
	if l == nil {
		return
	}
	timer := time.NewTimer(liveStall)
	defer timer.Stop()
	for !l.idle() {
		select {
		case <-l.done:
			return
		case <-l.moved:
			timer.Reset(liveStall)
		case <-timer.C:
			return
		}
	}
}
