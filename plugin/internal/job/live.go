package job

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"bashplugin/plugin/internal/output"
	"bashplugin/shared"
)

const (
	liveStall = 100 * time.Millisecond // how long settle waits for one write
	liveWait  = 800 * time.Millisecond // and for all of them
	liveMost  = 16 << 20               // settle does not wait for more than this
)

// live copies raw output to the writers of a request. One goroutine writes;
// put and store never wait for it. What the writers do not take at once waits
// in the backlog; what exceeds that is left out, and most of a surge.
type live struct {
	floods *Floods
	now    func() time.Time
	done   chan struct{} // the goroutine has ended
	moved  chan struct{} // after each write

	mu      sync.Mutex // guards what follows
	wake    *sync.Cond
	backlog backlog
	writing bool // a chunk is with its writer
	ended   bool // nothing more comes, or is wanted
}

// newLive begins a copy.
func newLive(floods *Floods, spool *output.Spool, stdout, stderr *track) *live {
	l := &live{
		floods: floods, now: time.Now, done: make(chan struct{}), moved: make(chan struct{}, 1),
		backlog: backlog{spool: spool, tracks: [2]*track{stdout, stderr}, whole: isWhole(stdout.to) || isWhole(stderr.to)},
	}
	l.wake = sync.NewCond(&l.mu)
	go l.run()
	return l
}

func isWhole(w io.Writer) bool {
	_, whole := w.(shared.WholeOutput)
	return whole
}

// put queues a copy of p, if there is room in memory, or leaves it out. Else
// store follows.
func (l *live) put(t *track, p []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || t.failed {
		return true
	}
	if !l.queue(t, p) && !l.leaveOut(t, p) {
		return false
	}
	l.wake.Signal()
	return true
}

// queue is put's where there is room. mu is held.
func (l *live) queue(t *track, p []byte) bool {
	if !t.gap.isEmpty() { // without p there would soon be another marker
		if !l.backlog.hasRoom(gapText + len(p)) {
			return false
		}
		p = append(t.gap.text(), p...)
	}
	if !l.backlog.add(t, p) {
		return false
	}
	t.gap.close()
	return true
}

// leaveOut is put's amid a surge. mu is held.
func (l *live) leaveOut(t *track, p []byte) bool {
	if l.backlog.whole || !t.isBeside(len(p)) || !t.surge.took(len(p), l.now()) {
		return false
	}
	t.gap.add(p)
	return true
}

// store has p wait on disk, if there is room: the last that came of the track.
// Its verbatim bytes are in the log.
func (l *live) store(t *track, p []byte, log *output.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || t.failed {
		return
	}
	if t.log == nil && log != nil {
		if t.log, _ = log.Reader(); t.log == nil {
			t.verbatim = 0
		}
	}
	var stored bool
	if !t.gap.isEmpty() {
		gap := t.gap.text()
		stored = l.backlog.fix() && l.backlog.writeFrame(t.number, gap, p, len(gap)+len(p))
	} else {
		stored = l.backlog.store(t, p) || l.backlog.keep(t, p)
	}
	if stored {
		t.gap.close()
	} else {
		t.gap.add(p)
	}
	l.wake.Signal()
}

// look has the goroutine look whether the logs have what it waits for.
func (l *live) look() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake.Signal()
}

// end says that nothing more comes. The Streams are closed.
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
	follower := follower{floods: l.floods}
	follower.makeWay(0, false)
	var bytes int // written since the last makeWay
	var work time.Duration
	for l.await() {
		start := time.Now()
		c, err := l.next()
		if err != nil {
			l.writeLast(err)
			return
		}
		if !l.write(c) {
			return // nobody wants more
		}
		more, surging := l.wrote(c)
		bytes += len(c.text)
		work += time.Since(start)
		if more && bytes >= bufferSize {
			follower.makeWay(work, surging)
			bytes, work = 0, 0
		}
	}
}

// write gives c to its writer, if that has not failed, and reports whether there
// is one that has not.
func (l *live) write(c chunk) bool {
	if c.of == nil || c.of.failed {
		return true
	}
	if _, err := c.of.to.Write(c.text); err == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.of.failed = true
	return slices.ContainsFunc(l.backlog.tracks[:], func(t *track) bool { return t.to != nil && !t.failed })
}

// writeLast says that the disk does not give back what it took.
func (l *live) writeLast(err error) {
	for _, t := range l.backlog.tracks {
		if t.to != nil {
			_ = l.write(chunk{t, fmt.Appendf(nil, "\n[… the rest is lost: %v …]\n", err)})
		}
	}
}

// await waits for something to write, or for the end.
func (l *live) await() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.backlog.isReadable() && l.incomplete() == nil && !l.ended {
		l.wake.Wait()
	}
	l.writing = l.backlog.isReadable() || l.incomplete() != nil
	return l.writing
}

// incomplete returns a track of which some was left out behind everything that
// came, which is all written. nil: there is none.
func (l *live) incomplete() *track {
	for _, t := range l.backlog.tracks {
		if !t.gap.isEmpty() && l.backlog.isEmpty() {
			return t
		}
	}
	return nil
}

// next returns what await has found, or the zero value where that leads to
// nothing yet.
func (l *live) next() (chunk, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backlog.begin()
	if t := l.incomplete(); t != nil {
		c := chunk{t, t.gap.text()}
		t.gap.close()
		return c, nil
	}
	c, part := l.backlog.next()
	if c.of != nil {
		return c, nil
	}
	l.mu.Unlock()
	defer l.mu.Lock()
	if part.size() > 0 {
		l.backlog.piece = part.read(l.backlog.piece)
		return chunk{part.of, l.backlog.piece}, nil
	}
	return l.nextFrame()
}

// nextFrame returns the next chunk in the spool. Where a passage comes first,
// it is at the head of the backlog from then on.
func (l *live) nextFrame() (chunk, error) {
	f, err := l.backlog.readFrame()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backlog.shrink(f)
	return f.chunk, err
}

// wrote reports whether more may come, for which there is a disk to wait on, and
// whether there is a surge.
func (l *live) wrote(c chunk) (more, surging bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	l.backlog.took(len(c.text))
	if l.backlog.isEmpty() {
		l.backlog.piece = nil
	}
	select {
	case l.moved <- struct{}{}:
	default:
	}
	for _, t := range l.backlog.tracks {
		surging = surging || t.surge.isPast(l.now())
	}
	return !l.ended && !l.backlog.alone, surging
}

func (l *live) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.writing = true, false
	l.backlog.close()
}

// behind returns how many bytes are not written yet, about, with those that are
// left out since.
func (l *live) behind() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.backlog.behind()
	for _, t := range l.backlog.tracks {
		n += t.gap.size
	}
	if n == 0 && l.writing {
		n = 1
	}
	return n
}

func (l *live) tellEnd() {
	for _, t := range l.backlog.tracks {
		if ender, ok := t.to.(shared.OutputEnder); ok {
			ender.EndOutput()
		}
	}
}

// settle waits until everything so far is written, as long as writes go on: a
// writer that is stuck holds nobody up for more than liveStall, a slow one for
// no more than liveWait, and one that is far behind not at all.
func (l *live) settle() {
	if l == nil {
		return
	}
	timer, enough := time.NewTimer(liveStall), time.NewTimer(liveWait)
	defer timer.Stop()
	defer enough.Stop()
	for {
		if n := l.behind(); n == 0 || n > liveMost {
			return
		}
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
