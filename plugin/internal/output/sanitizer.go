package output

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/parser"
)

const (
	// maxEscape is how long an escape sequence may get before what follows is
	// text again: one that never ends must not swallow the output.
	maxEscape = 4 << 10

	handOver  = 32 << 10 // finished text is handed on once there is this much, or at the end of a Write
	uncopied  = 2 << 10  // clean text from this size on is handed on as it came
	tombstone = "\uFFFD" // stands for bytes that are not UTF-8
)

// finished holds buffers for finished text: a Sanitizer has one during Write
// only.
var finished = sync.Pool{New: func() any { b := make([]byte, 0, 2*handOver); return &b }}

// Sanitizer turns what a program writes to a terminal into the plain text that
// the terminal would show in the end, as a stream: where the chunks end never
// matters. Finished lines, and the front of over-long ones, go to a writer.
//
//	      clean text                  parameters, intermediates, strings
//	        ┌───┐                                 ┌───┐
//	        ▼   │     ESC, C1 introducer          ▼   │
//	┌──► ground ┴───────────────────────────► escape ─┘
//	│     │   ▲                                   │
//	│     │   └───────────────────────────────────┘
//	│     │      final byte, ST, CAN, too long, or a newline in a string
//	│     ▼
//	└── line: CR, BS, EL, CHA, … edit what is there; LF finishes it
//
// The escape states are those of x/ansi's table of the VT500's parser. It is
// not safe for concurrent use.
type Sanitizer struct {
	w    io.Writer
	line line
	out  *[]byte // finished text, during Write

	part [utf8.UTFMax]byte // the beginning of a rune that the last Write ended in
	size int               // of part

	state  parser.State // not ground: within an escape sequence
	length int          // of that sequence so far
	rest   int          // continuation bytes to come of a rune within a string
	lead   byte         // its first byte
	csi    csi
}

// NewSanitizer returns a Sanitizer that hands finished text on to w.
func NewSanitizer(w io.Writer) *Sanitizer {
	return &Sanitizer{w: w, line: newLine()}
}

// Sanitize returns what is left of s.
func Sanitize(s string) string {
	var b bytes.Buffer
	z := NewSanitizer(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

// Write takes a chunk. It never fails.
func (s *Sanitizer) Write(p []byte) (int, error) {
	s.out = finished.Get().(*[]byte)
	for rest := p; len(rest) > 0; {
		switch {
		case s.size > 0:
			rest = s.resume(rest)
		case s.state != parser.GroundState:
			rest = s.escape(rest)
		default:
			rest = s.text(rest)
		}
	}
	s.flush()
	finished.Put(s.out)
	s.out = nil
	return len(p), nil
}

// Line returns the line being written as a terminal would show it now. It is
// valid until the next Write.
func (s *Sanitizer) Line() []byte { return s.line.text() }

// Close hands on the line being written. An escape sequence that did not end
// is dropped.
func (s *Sanitizer) Close() error {
	if s.size > 0 {
		s.size = 0
		_, _ = s.Write([]byte(tombstone))
	}
	_, _ = s.w.Write(s.line.text())
	s.line.reset()
	s.state = parser.GroundState
	return nil
}

// text handles a chunk in the ground state and returns what is left of it.
func (s *Sanitizer) text(p []byte) []byte {
	n := cleanPrefix(p)
	if n > 0 {
		s.clean(p[:n])
	}
	if p = p[n:]; len(p) == 0 {
		return nil
	}
	switch b := p[0]; {
	case b == 0x1b:
		if n := s.plainSequence(p); n > 0 {
			return p[n:]
		}
		s.begin(b)
	case b < utf8.RuneSelf:
		s.control(b)
	default:
		return s.unclean(p)
	}
	return p[1:]
}

// clean takes text that needs no change.
func (s *Sanitizer) clean(p []byte) {
	for !s.line.atEnd {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.put(p)
			return
		}
		s.put(p[:end])
		s.newline()
		p = p[end+1:]
	}
	if bytes.IndexByte(p, '\n') < 0 { // most often so between colours, and faster to see than the last one
		s.put(p)
		return
	}
	lines := p[:bytes.LastIndexByte(p, '\n')+1]
	s.emit(s.line.text())
	s.line.reset()
	s.emit(lines)
	s.put(p[len(lines):])
}

// put writes clean text without a newline at the cursor. Where the line gets
// too long, what there is of it is finished.
func (s *Sanitizer) put(p []byte) {
	for len(p) > 0 {
		n := s.line.put(p)
		if p = p[n:]; len(p) > 0 {
			s.emit(s.line.text())
			s.line.reset()
		}
	}
}

func (s *Sanitizer) newline() {
	s.emit(s.line.text())
	s.line.reset()
	s.emit(newline)
}

// emit hands finished text on, sooner or later.
func (s *Sanitizer) emit(p []byte) {
	if len(p) >= uncopied {
		s.flush()
		_, _ = s.w.Write(p)
		return
	}
	if *s.out = append(*s.out, p...); len(*s.out) >= handOver {
		s.flush()
	}
}

func (s *Sanitizer) flush() {
	if len(*s.out) > 0 {
		_, _ = s.w.Write(*s.out)
		*s.out = (*s.out)[:0]
	}
}

// control executes a control byte.
func (s *Sanitizer) control(b byte) {
	switch b {
	case '\n':
		s.newline()
	case '\r':
		s.line.home()
	case '\b':
		s.line.move(-1)
	case '\t':
		s.put([]byte{'\t'})
	}
}

// unclean handles what begins with a byte that is not ASCII and not clean.
func (s *Sanitizer) unclean(p []byte) []byte {
	n, ok := runeLen(p)
	switch {
	case n == 0:
		s.size = copy(s.part[:], p)
		return nil
	case ok && p[0] == 0xc2 && p[1] < 0xa0:
		s.begin(p[1])
	case ok:
		s.put(p[:n])
	case introduces(p[0]):
		s.begin(p[0])
		return p[1:]
	default:
		s.put([]byte(tombstone))
	}
	return p[n:]
}

// introduces reports whether a byte that is no UTF-8 begins a sequence on a
// terminal of eight bits.
func introduces(b byte) bool {
	switch b {
	case 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f:
		return true
	}
	return false
}

// resume completes the rune that the last Write ended in.
func (s *Sanitizer) resume(p []byte) []byte {
	for len(p) > 0 {
		s.part[s.size] = p[0]
		s.size++
		n, ok := runeLen(s.part[:s.size])
		if n == 0 || n == s.size {
			p = p[1:]
		} // otherwise p[0] does not belong to it
		if n == 0 {
			continue
		}
		s.size = 0
		if ok {
			s.unclean(s.part[:n])
		} else {
			s.put([]byte(tombstone))
		}
		return p
	}
	return nil
}
