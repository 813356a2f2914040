package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const (
	// screenBuffer is how many bytes wait for the emulator at most. If more come, all but
	// the last are skipped, as many as the screen has cells: the others have scrolled away.
	screenBuffer   = 128 << 10
	screenPart     = 4 << 10     // bytes that the emulator takes at a time
	screenPatience = time.Second // for the emulator to draw what has come
)

// newTerminal opens a pseudo-terminal where text is typed. It returns the command's end,
// the input to it and its screen.
func newTerminal(columns, rows int, text string) (*os.File, *input, *screen, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	defer ours.Close()
	// The library has made ours a file whose calls block in the system: nothing ends them.
	fd, err := unix.FcntlInt(ours.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	err = errors.Join(err, pty.Setsize(ours, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}), unix.SetNonblock(fd, true))
	if err != nil {
		theirs.Close()
		return nil, nil, nil, fmt.Errorf("cannot set up a terminal: %w", err)
	}
	in := inputTo(os.NewFile(uintptr(fd), "terminal"), true, text)
	return theirs, in, newScreen(columns, rows, func(text string) { _ = in.put(text, false) }), nil
}

// screen shows what a command draws on its terminal. Emulators are slow: the screen's
// goroutine (run) feeds one, and output never waits for it. A command without a terminal
// has a nil screen, which does nothing.
type screen struct {
	columns, rows int
	answer        func(string) // takes what the terminal answers to a program

	drawing  sync.Mutex   // held while the emulator is used; guards the fields below
	emulator *vt.Emulator // nil once the screen is closed and drawn
	last     string       // what it showed then

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	waiting []byte
	busy    bool // run draws a part that is not in waiting any more
	closed  bool // no more come
}

func newScreen(columns, rows int, answer func(string)) *screen {
	s := &screen{columns: columns, rows: rows, answer: answer}
	s.changed = sync.NewCond(&s.mu)
	s.reset()
	go s.run()
	return s
}

// reset begins with an empty screen.
func (s *screen) reset() {
	e := vt.NewEmulator(s.columns, s.rows)
	e.SetScrollbackSize(1) // the least; it is not shown
	s.emulator = e
	go func() { // a program waits for the answers, and the emulator for their reader
		buffer := make([]byte, 1<<10)
		for n, err := e.Read(buffer); err == nil; n, err = e.Read(buffer) {
			s.answer(string(buffer[:n]))
		}
	}()
}

// put takes output.
func (s *screen) put(p []byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, p...)
	if len(s.waiting) > screenBuffer {
		s.waiting = append([]byte(nil), s.waiting[len(s.waiting)-s.columns*s.rows:]...)
	}
	s.changed.Broadcast()
}

func (s *screen) run() {
	for part := s.next(); len(part) > 0; part = s.next() {
		s.draw(part)
	}
	s.drawing.Lock()
	defer s.drawing.Unlock()
	s.last = s.plain()
	s.end()
	s.emulator = nil // a finished job is kept for long
}

// next waits for output and takes the next part of it; none: there will be none.
func (s *screen) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	for len(s.waiting) == 0 && !s.closed {
		s.changed.Wait()
	}
	n := min(len(s.waiting), screenPart)
	part := s.waiting[:n:n]
	s.waiting, s.busy = s.waiting[n:], n > 0
	return part
}

// draw feeds the emulator. If that fails, the screen begins anew.
func (s *screen) draw(part []byte) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	defer func() {
		if recover() != nil {
			s.end()
			s.reset()
		}
	}()
	_, _ = s.emulator.Write(part)
}

// end ends the goroutine that reads the emulator's answers.
func (s *screen) end() { _ = s.emulator.InputPipe().(io.Closer).Close() }

// close ends run, once it has drawn what has come.
func (s *screen) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

// text returns what the terminal shows. It waits up to screenPatience for what has come
// to be drawn.
func (s *screen) text() string {
	if s == nil {
		return ""
	}
	for late := time.Now().Add(screenPatience); s.isBehind() && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	s.drawing.Lock()
	defer s.drawing.Unlock()
	return s.plain()
}

func (s *screen) isBehind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0 || s.busy
}

func (s *screen) plain() string {
	if s.emulator == nil {
		return s.last
	}
	return strings.ToValidUTF8(strings.TrimRight(s.emulator.String(), "\n"), "\uFFFD")
}
