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
	displayCluster = 40 // bytes of a character with its accents; the longest emoji has 35
	displayCell    = 8  // bytes that a cell has on average at most, more than in any script
	displayNumber  = 4  // digits of a number in a control sequence
	displayString  = 64 // bytes of a string (a title, a link, an image), more than colours have
)

// display is a terminal emulator behind a filter. What it costs to draw a byte is bounded,
// at the largest size by some milliseconds, and so is the memory that it takes.
type display struct {
	columns, rows int
	answer        func(string) // takes what the terminal answers to a program
	filter        filter
	emulator      *vt.Emulator
	answered      chan struct{} // closed when the goroutine has ended that reads the answers
}

// open begins with an empty screen.
func (d *display) open() {
	d.filter = filter{}
	d.emulator = vt.NewEmulator(d.columns, d.rows)
	d.emulator.SetScrollbackSize(1) // the least; it is not shown
	d.answered = make(chan struct{})
	go d.pass(d.emulator, d.answered)
}

// pass passes the emulator's answers on. The emulator waits for their reader.
func (d *display) pass(e *vt.Emulator, done chan struct{}) {
	defer close(done)
	defer func() {
		_ = recover()
		_ = e.InputPipe().(io.Closer).Close() // if it failed, the emulator must not wait
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

// reopen, deferred, begins with an empty screen if the emulator has failed.
func (d *display) reopen() {
	if recover() != nil {
		d.close()
		d.open()
	}
}

// draw draws until a time, one character at least, and returns what is left.
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

// character returns the length of p's first character, with its accents. The emulator
// takes what is written at once as one text, which it keeps as long as any part is shown.
func character(p []byte) int {
	if p[0] < utf8.RuneSelf {
		return 1
	}
	cluster, _ := ansi.FirstGraphemeCluster(p[:min(len(p), displayCluster)], ansi.GraphemeWidth)
	return len(cluster)
}

// isBetween reports whether what is drawn next is outside control sequences.
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

// filter follows control sequences, just as the emulator's parser does, and cuts what would
// cost much: long numbers and long strings. Strings lose what is not ASCII, in which the
// parser sees control characters.
type filter struct {
	state   parser.State
	missing int // bytes of a character, in parser.Utf8State
	size    int // digits of the number, or bytes of the string, so far
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
	case parser.OscStringState, parser.DcsStringState, parser.SosStringState, parser.PmStringState, parser.ApcStringState:
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
