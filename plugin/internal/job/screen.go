package job

import (
	"sync"
	"time"
)

const (
	screenSlice  = 2 * time.Millisecond   // of drawing, then perhaps a rest
	screenBurst  = 50 * time.Millisecond  // of drawing without a rest: a program draws all anew
	screenShare  = 4                      // then the screen draws for 1/screenShare of the time
	screenFrame  = 20 * time.Millisecond  // between pictures that nobody asks for
	screenStale  = 100 * time.Millisecond // age of the picture while there is always more to draw
	screenAnswer = 20 * time.Millisecond  // a call waits so long for the last output, unnoticed
	screenEnd    = 250 * time.Millisecond // the end of a job waits so long for it to be drawn
)

// screen shows what a command draws on its terminal. An emulator is slow, and a command can
// make it slower: nobody waits for it longer than the constants above. Output waits in a
// backlog; the screen's goroutine (run) draws it and publishes pictures.
// A command without a terminal has a nil screen, which does nothing.
//
//	source ► put ► backlog ► run ► display
//	                          └──► picture ► text
type screen struct {
	display *display
	turns   Turns

	// Used by run alone.
	spent     budget
	published time.Time // when the picture was
	taken     int64     // how many bytes are drawn, or in the part that is being drawn

	mu      sync.Mutex // guards the fields below; run does not hold it while it draws
	changed *sync.Cond
	backlog backlog
	came    int64  // bytes so far
	shown   int64  // of these, the picture is of so many
	picture string // what the terminal showed last
	asked   int    // calls that wait for a picture
	resting bool   // run has drawn more than its share
	closed  bool   // no more bytes come
	stopped bool   // run draws no more
	ended   bool   // run has ended
}

func newScreen(columns, rows int, turns Turns, answer func(string)) *screen {
	s := &screen{display: &display{columns: columns, rows: rows, answer: answer}, turns: turns}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// put takes output.
func (s *screen) put(p []byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.backlog) == 0 {
		s.changed.Broadcast()
	}
	s.came += int64(len(p))
	s.backlog.put(p)
}

// text returns the last picture.
func (s *screen) text() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.changed.Broadcast()
	came := s.came
	s.waitLocked(screenAnswer, func() bool { return s.shown >= came || s.resting || s.ended })
	s.asked--
	return s.picture
}

// close ends run, once it has drawn what has come or screenEnd is over.
func (s *screen) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
	s.waitLocked(screenEnd, func() bool { return s.ended })
	s.stopped = true
}

// waitLocked waits until over, or for d.
func (s *screen) waitLocked(d time.Duration, over func() bool) {
	if d <= 0 || over() {
		return
	}
	late := false
	timer := time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	})
	defer timer.Stop()
	for !late && !over() {
		s.changed.Wait()
	}
}

func (s *screen) run() {
	s.display.open()
	for part := s.next(); len(part) > 0; part = s.next() {
		if s.display.isBetween() {
			part = visible(part, s.display.rows)
		}
		s.draw(part)
	}
	s.display.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog = nil // a finished job is kept for long
	s.ended = true
	s.changed.Broadcast()
}

// next takes what waits, once it is time for another picture; nothing: run ends.
func (s *screen) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitLocked(screenFrame-time.Since(s.published), func() bool { return s.asked > 0 || s.closed })
	for len(s.backlog) == 0 && !s.closed {
		s.changed.Wait()
	}
	if s.stopped {
		return nil
	}
	s.taken = s.came
	return s.backlog.take()
}

// draw draws a part and publishes a picture of it, and others on the way if that takes long.
func (s *screen) draw(part []byte) {
	for len(part) > 0 && !s.isStopped() {
		part = s.drawSlice(part)
		s.rest(s.spent.rest())
	}
}

// drawSlice draws the first of part and returns the rest.
func (s *screen) drawSlice(part []byte) []byte {
	s.turns.draw <- struct{}{}
	defer func() { <-s.turns.draw }()
	begin := time.Now()
	part = s.display.draw(part, begin.Add(screenSlice))
	if len(part) == 0 || time.Since(s.published) > screenStale {
		s.publish(len(part) == 0)
	}
	s.spent.add(time.Since(begin))
	return part
}

func (s *screen) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// publish makes a picture of what is drawn. all says that this is all that was taken.
func (s *screen) publish(all bool) {
	picture := s.display.text()
	s.published = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.picture = picture
	if all {
		s.shown = s.taken
	}
	s.changed.Broadcast()
}

// rest waits for d, or until no more bytes come.
func (s *screen) rest(d time.Duration) {
	if d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = true
	s.changed.Broadcast()
	s.waitLocked(d, func() bool { return s.closed })
	s.resting = false
}

// budget is the time that a screen has drawn beyond its share.
type budget struct {
	debt time.Duration
	paid time.Time // up to then
}

// add adds a time that the screen has drawn.
func (b *budget) add(drawn time.Duration) {
	now := time.Now()
	b.debt = max(0, b.debt-now.Sub(b.paid)/screenShare) + drawn
	b.paid = now
}

// rest returns how long the screen must rest.
func (b *budget) rest() time.Duration { return (b.debt - screenBurst) * screenShare }
