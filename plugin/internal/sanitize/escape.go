package sanitize

import "unicode/utf8"

const (
	// maxEscape is how long an escape sequence may be, in bytes. Longer ones are given up:
	// a sequence that never ends must not swallow the output. Images and clipboards are
	// strings of some hundred KiB.
	maxEscape = 1 << 20

	// maxControl is how long a control sequence may be and still go on after a newline in it.
	maxControl = 4 << 10
)

// escape is the escape sequence being read, in one of these states:
//
//	          ESC            [
//	ground ────────► begun ────► control ─────────────────┐
//	  ▲              │ │ │ ]                              │
//	  │              │ │ └───► title ── BEL, ST, newline ─┤
//	  │  final byte  │ │ P X ^ _                          │ final byte
//	  │              │ └─────► text ────── ST, newline ───┤
//	  └──────────────┴────────────────────────────────────┘
//
// A C1 control leads from ground to where its two-byte form does. CAN, SUB and a
// length of maxEscape end every sequence, a newline ends a control sequence that is
// longer than maxControl, and ESC begins another.
type escape struct {
	state  escapeState
	length int // bytes so far

	// param is the first parameter of a control sequence, -1 if it has none.
	param int

	// more is set once a second parameter has begun. All but the first are ignored.
	more bool

	// other is set by a prefix or an intermediate byte, which gives the sequence another
	// meaning.
	other bool
}

type escapeState byte

const (
	ground  escapeState = iota // no sequence
	begun                      // ESC and intermediates
	control                    // CSI and parameters
	title                      // an OSC string
	text                       // a DCS, SOS, PM or APC string
)

// inString reports whether the sequence is a string, whose text is dropped.
func (e *escape) inString() bool { return e.state >= title }

// begin begins a sequence, whose first size bytes were read.
func (s *Sanitizer) begin(state escapeState, size int) {
	s.dropped += int64(size)
	s.esc = escape{state: state, length: size, param: -1}
}

// introduced returns the state after ESC and b.
func introduced(b byte) escapeState {
	switch b {
	case '[':
		return control
	case ']':
		return title
	case 'P', 'X', '^', '_':
		return text
	}
	return ground
}

// escaped handles a chunk within an escape sequence and returns the part after the
// sequence.
func (s *Sanitizer) escaped(p []byte) []byte {
	for len(p) > 0 && s.esc.state != ground {
		n := 1
		b := p[0]
		switch {
		case s.esc.endsBefore(b):
			s.esc.state = ground
			return p
		case b == 0xc2:
			if len(p) == 1 {
				s.size = copy(s.part[:], p)
				return nil
			}
			if p[1] == 0x9c { // ST
				s.esc.state = ground
				n = 2
			}
		case b < ' ' || !s.esc.inString():
			s.step(b)
		}
		s.esc.length += n
		s.dropped += int64(n)
		p = p[n:]
	}
	return p
}

// endsBefore reports whether the sequence ends, unfinished, before b.
func (e *escape) endsBefore(b byte) bool {
	switch {
	case e.length >= maxEscape:
		return true
	case e.inString():
		return b == '\n' // no program means a newline to be a part of a string
	}
	return b >= utf8.RuneSelf
}

// step takes an ASCII byte of a sequence, except text in a string.
func (s *Sanitizer) step(b byte) {
	e := &s.esc
	switch {
	case b == 0x1b:
		*e = escape{state: begun, param: -1}
	case b == 0x18, b == 0x1a, b == '\a' && e.state == title: // CAN, SUB
		e.state = ground
	case e.inString() || b == 0x7f:
	case b < ' ':
		s.control(b)
		s.dropped-- // escaped counts it
		if isNewline(b) && e.length > maxControl {
			e.state = ground
		}
	case b < '0':
		e.other = true
	case e.state == begun && e.other:
		e.state = ground
	case e.state == begun:
		e.state = introduced(b)
	case b < '@':
		e.parameter(b)
	default:
		e.state = ground
		if !e.other && b != 'm' { // a colour leaves a CR waiting, as in colour
			s.carriageReturn()
			s.line.edit(b, e.param)
		}
	}
}

// parameter takes a byte of a parameter, a separator or a prefix.
func (e *escape) parameter(b byte) {
	switch {
	case b > ';':
		e.other = true
	case b > '9':
		e.more = true
	case !e.more:
		e.param = min(max(e.param, 0)*10+int(b-'0'), maxLine)
	}
}
