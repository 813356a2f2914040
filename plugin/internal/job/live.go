package job

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bashplugin/plugin/internal/output"
	"bashplugin/shared"
)

const (
	// spoolRest is how long the copy of what waits on disk rests for each time
	// that it takes, while the command goes on: it can wait, the command cannot.
	spoolRest = 2

	liveStall = 100 * time.Millisecond // how long settle waits for one write
	liveWait  = time.Second            // and for all of them
)

// live copies raw output to the writers of a request. One goroutine writes;
// put never waits for it. What the writers do not take at once waits in the
// backlog; what exceeds that is left out.
type live struct {
	stdout, stderr io.Writer
	done           chan struct{} // the goroutine has ended
	moved          chan struct{} // after each write

	mu      sync.Mutex // guards what follows
	wake    *sync.Cond
	backlog backlog
	skipped int64 // bytes left out since the last that are in the backlog
	writing bool  // a chunk is with its writer
	ended   bool  // nothing more comes, or is wanted
}

// newLive returns nil where there is nobody to copy to.
func newLive(stdout, stderr io.Writer, spool *output.Spool) *live {
	if stdout == nil && stderr == nil {
		return nil
	}
	l := &live{
		stdout: stdout, stderr: stderr,
		done: make(chan struct{}), moved: make(chan struct{}, 1),
		backlog: backlog{stdout: stdout, stderr: stderr, spool: spool},
	}
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
	if l.ended {
		return
	}
	n := int64(len(p))
	if l.skipped > 0 {
		p = append(l.marker(), p...)
	}
	if l.backlog.add(to, p) {
		l.skipped = 0
		l.wake.Signal()
		return
	}
	l.skipped += n
}

func (l *live) marker() []byte { return fmt.Appendf(nil, "\n[… %d bytes skipped …]\n", l.skipped) }

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
	defer l.giveUp()
	for l.await() {
		start := time.Now()
		c, inMemory, err := l.next()
		if err == nil {
			_, err = c.to.Write(c.text)
		}
		if err != nil {
			return // the reader does not want more
		}
		if l.wrote(c) && !inMemory {
			time.Sleep(min(spoolRest*time.Since(start), maxRest))
		}
	}
}

// await waits for something to write, or for the end.
func (l *live) await() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.backlog.isEmpty() && !l.ended {
		l.wake.Wait()
	}
	l.writing = !l.backlog.isEmpty() || l.skipped > 0
	return l.writing
}

// next returns what await has found. The last thing that there is to say is
// what was left out at the end.
func (l *live) next() (c chunk, inMemory bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.backlog.isEmpty() {
		c = chunk{l.stdout, l.marker()}
		if c.to == nil {
			c.to = l.stderr
		}
		l.skipped = 0
		return c, true, nil
	}
	if c, inMemory = l.backlog.pop(); inMemory {
		return c, true, nil
	}
	l.mu.Unlock()
	c, err = l.backlog.read()
	l.mu.Lock()
	l.backlog.shrink(c)
	return c, false, err
}

// wrote reports whether more may come.
func (l *live) wrote(c chunk) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	l.backlog.taken += int64(len(c.text))
	select {
	case l.moved <- struct{}{}:
	default:
	}
	return !l.ended
}

func (l *live) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.writing, l.skipped = true, false, 0
	l.backlog.close()
}

// idle reports whether everything so far is written.
func (l *live) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backlog.isEmpty() && !l.writing
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
