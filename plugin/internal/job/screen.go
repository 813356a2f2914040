package job

import (
	"sync"
	"time"
)

const (
	// screenSlice is how long a screen draws at a time, before it may have to rest.
	screenSlice = 2 * time.Millisecond

	// screenBurst is how long a screen may draw without a rest. It is enough for a program
	// that draws the whole screen anew.
	screenBurst = 50 * time.Millisecond

	// After a burst, a screen draws for 1/screenShare of the time.
	screenShare = 4

	// screenFrame is the time between two pictures while nobody asks for one.
	screenFrame = 20 * time.Millisecond

	// screenStale is the age at which a picture is replaced although there is more to draw.
	screenStale = 100 * time.Millisecond

	// screenAnswer is how long a call waits for the last output to be drawn. Nobody notices
	// so short a wait.
	screenAnswer = 20 * time.Millisecond

	// screenEnd is how long the end of a job waits for the last output to be drawn.
	screenEnd = 250 * time.Millisecond
)

// screen shows what a command draws on its terminal. An emulator is slow, and a command can
// make it slower, so nobody waits for it longer than the constants above say. Output waits in
// a backlog; the screen's goroutine (run) draws it and publishes pictures.
// A command without a terminal has a nil screen, which does nothing.
//
//	source ► put ► backlog ► run ► display
//	                          └──► picture ► text
type screen struct {
	display *display
	turns   Turns

	// Only run uses these. taken is how many bytes it has drawn or is drawing.
	spent     budget
	published time.Time // of the picture
	taken     int64

	// mu guards the fields below. run does not hold it while it draws.
	mu      sync.Mutex
	changed *sync.Cond
	backlog backlog
	came    int64  // bytes so far
	shown   int64  // bytes that picture shows
	picture string // what the terminal showed last
	asked   int    // calls that wait for a picture
	resting bool   // run has drawn too long
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
	s.waitLocked(screenAnswer, func() bool {
		return s.shown >= came || s.resting || s.ended
	})
	s.asked--
	return s.picture
}

// close ends run. First it waits until run has drawn everything, at most for screenEnd.
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

// waitLocked waits until over returns true, at most for d.
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
	for {
		part := s.next()
		if len(part) == 0 {
			break
		}
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

// next takes the backlog, once it is time for another picture. It returns nothing if run is
// to end.
func (s *screen) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitLocked(screenFrame-time.Since(s.published), func() bool {
		return s.asked > 0 || s.closed
	})
	for len(s.backlog) == 0 && !s.closed {
		s.changed.Wait()
	}
	if s.stopped {
		return nil
	}
	s.taken = s.came
	return s.backlog.take()
}

// draw draws a part and publishes a picture of it. If that takes long it publishes others on
// the way.
func (s *screen) draw(part []byte) {
	for len(part) > 0 && !s.isStopped() {
		part = s.drawSlice(part)
		s.rest(s.spent.rest())
	}
}

// drawSlice draws the beginning of part, for about screenSlice, and returns the rest.
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

// publish makes a picture of what is drawn. all says that everything taken from the backlog
// is drawn.
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

// budget is how much longer a screen has drawn than its share allows. The debt shrinks
// with time; paid is when it was last reduced.
type budget struct {
	debt time.Duration
	paid time.Time
}

// add adds the time that the screen took to draw.
func (b *budget) add(drawn time.Duration) {
	now := time.Now()
	b.debt = max(0, b.debt-now.Sub(b.paid)/screenShare) + drawn
	b.paid = now
}

// rest returns how long the screen must rest.
func (b *budget) rest() time.Duration { return (b.debt - screenBurst) * screenShare }
