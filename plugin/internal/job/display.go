package job

import (
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
	"github.com/charmbracelet/x/vt"
)

const (
	// displayCluster is how many bytes a character may have with its accents. The longest
	// emoji has 35.
	displayCluster = 40

	// displayCell is how many bytes a cell may have on average, more than in any script.
	displayCell = 8

	// displayNumber is how many digits a number in a control sequence may have.
	displayNumber = 4

	// displayString is how many bytes of a string (a title, a link, an image) reach the emulator.
	// The strings that set colours have fewer.
	displayString = 64
)

// display is a terminal emulator behind a filter. Its memory is bounded, and so is the time
// to draw a byte: by some milliseconds at the largest size.
type display struct {
	columns  int
	rows     int
	answer   func(string) // gets what the terminal answers
	filter   filter
	emulator *vt.Emulator
	answered chan struct{} // closed when pass has ended
}

// open begins with an empty screen.
func (d *display) open() {
	d.filter = filter{}
	d.emulator = vt.NewEmulator(d.columns, d.rows)
	d.emulator.SetScrollbackSize(1) // the least; it is not shown
	d.answered = make(chan struct{})
	go d.pass(d.emulator, d.answered)
}

// pass passes the emulator's answers on. The emulator blocks until somebody reads them.
func (d *display) pass(e *vt.Emulator, done chan struct{}) {
	defer close(done)
	defer func() {
		_ = recover()
		_ = e.InputPipe().(io.Closer).Close() // after a panic nobody reads the answers
	}()
	buffer := make([]byte, 1<<10)
	for {
		n, err := e.Read(buffer)
		if err != nil {
			return
		}
		d.answer(string(buffer[:n]))
	}
}

// close frees the emulator.
func (d *display) close() {
	_ = d.emulator.InputPipe().(io.Closer).Close()
	<-d.answered
	d.emulator = nil
}

// reopen is deferred. If the emulator has panicked, it begins with an empty screen.
func (d *display) reopen() {
	if recover() != nil {
		d.close()
		d.open()
	}
}

// draw draws part until the given time, but at least one character, and returns the rest.
func (d *display) draw(part []byte, until time.Time) (left []byte) {
	defer d.reopen()
	var buffer [displayCluster]byte
	left = part
	for len(left) > 0 && (len(left) == len(part) || time.Now().Before(until)) {
		n := character(left)
		passed := buffer[:0]
		for _, b := range left[:n] {
			if d.filter.passes(b) {
				passed = append(passed, b)
			}
		}
		left = left[n:]
		_, _ = d.emulator.Write(passed)
	}
	return left
}

// character returns the length of p's first character, with its accents. Characters are
// written one by one, because the emulator keeps all the text of one Write in memory as long as it
// shows any part of that text.
func character(p []byte) int {
	if p[0] < utf8.RuneSelf {
		return 1
	}
	p = p[:min(len(p), displayCluster)]
	cluster, _ := ansi.FirstGraphemeCluster(p, ansi.GraphemeWidth)
	return len(cluster)
}

// isBetween reports whether the byte that is drawn next is outside control sequences.
func (d *display) isBetween() bool { return d.filter.state == parser.GroundState }

// text returns what the terminal shows.
func (d *display) text() string {
	defer d.reopen()
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, d.emulator.String())
	shown = shown[:min(len(shown), displayCell*d.columns*d.rows)]
	return strings.ToValidUTF8(strings.TrimRight(shown, "\n"), "")
}

// filter follows control sequences, just as the emulator's parser does. It cuts long numbers
// and long strings, which would take the emulator long. From strings it also removes the
// bytes that are not ASCII, because the parser sees control characters in them.
type filter struct {
	state parser.State

	// missing is how many bytes of a character are to come, in parser.Utf8State.
	missing int

	// size is how many digits the number, or bytes the string, has so far.
	size int
}

// passes reports whether the emulator gets b.
func (f *filter) passes(b byte) bool {
	if f.state == parser.Utf8State {
		f.missing--
		if f.missing == 0 {
			f.state = parser.GroundState
		}
		return true
	}
	if f.inString() && b >= utf8.RuneSelf {
		return false
	}
	state, action := parser.Table.Transition(f.state, b)
	if state != f.state || action == parser.ParamAction && (b == ';' || b == ':') {
		f.size = 0
	}
	f.state = state
	switch {
	case state == parser.Utf8State:
		f.missing = following(b)
	case action == parser.ParamAction && '0' <= b && b <= '9':
		f.size++
		return f.size <= displayNumber
	case action == parser.PutAction:
		f.size++
		return f.size <= displayString
	}
	return true
}

func (f *filter) inString() bool {
	switch f.state {
	case parser.OscStringState, parser.DcsStringState, parser.SosStringState,
		parser.PmStringState, parser.ApcStringState:
		return true
	}
	return false
}

// following returns how many bytes follow the first one of a character.
func following(b byte) int {
	switch {
	case b < 0xe0:
		return 1
	case b < 0xf0:
		return 2
	}
	return 3
}
