package output

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/parser"
)

// maxEscape is how long an escape sequence may get before what follows is text
// again: one that never ends must not swallow the output.
const maxEscape = 4 << 10

// escape is the escape sequence being read. Its states are those of x/ansi's
// table of the VT500's parser:
//
//	          ESC                  [                     0…9 : ;
//	ground ─────────► escape ─────────────► CSI entry ─────────────► CSI param
//	  ▲               │  │  │ ]                 │      0x20…0x2f       │ │
//	  │  final byte   │  │  └─► OSC string      ├──► CSI intermediate ◄┘ │
//	  ├───────────────┘  │ P X ^ _    │         │            │           │
//	  │                  └─► DCS, SOS, PM, APC  └────────────┴───────────┤
//	  │   ST, BEL, newline               │                  final byte   │
//	  ├──────────────────────────────────┘                               │
//	  └──────────────────────────────────────────────────────────────────┘
//
// A C1 control leads from ground to where its two-byte form does, also as a byte
// that is no UTF-8: then the end of a string shows that it was one. CAN, SUB and
// a length of maxEscape end every sequence, and ESC begins another.
type escape struct {
	state  parser.State // ground: there is none
	length int          // bytes so far
	param  int          // the first parameter of a control sequence; -1 where there is none
	more   bool         // later parameters do not matter
	other  bool         // a prefix or intermediate gives it another meaning
}

// begin begins a sequence with ESC or a C1 control.
func (e *escape) begin(b byte) {
	*e = escape{length: 1, param: -1}
	e.state, _ = parser.Table.Transition(parser.GroundState, b)
}

// inString reports whether the sequence is a string, from its parameters on.
func (e *escape) inString() bool {
	switch e.state {
	case parser.DcsEntryState, parser.DcsParamState, parser.DcsIntermediateState:
		return true
	}
	return e.inText()
}

// inText reports whether it is a string in which printable ASCII means nothing.
func (e *escape) inText() bool {
	switch e.state {
	case parser.DcsStringState, parser.OscStringState, parser.SosStringState, parser.PmStringState, parser.ApcStringState:
		return true
	}
	return false
}

// escaped handles a chunk within an escape sequence and returns what is left
// of it behind the sequence.
func (s *Sanitizer) escaped(p []byte) []byte {
	for len(p) > 0 && s.esc.state != parser.GroundState {
		if s.raw && s.esc.state == parser.EscapeState {
			s.raw = false
			if p[0] != '\\' { // not ST
				s.restore()
			}
		}
		rest, n := p, 0
		if s.esc.inText() {
			n = stringText(p[:min(len(p), maxEscape-s.esc.length)])
		}
		switch b := p[0]; {
		case n > 0:
			s.esc.length += n
			p = p[n:]
		case s.esc.length >= maxEscape,
			b == '\n' && s.esc.inString(), // no string that programs send has one, but a title that was never ended runs into it
			b >= utf8.RuneSelf && !s.esc.inString():
			s.abandon()
		case b >= utf8.RuneSelf:
			p = s.stringRune(p)
		default:
			s.esc.length++
			s.step(b)
			p = p[1:]
		}
		if s.raw && s.size == 0 && s.esc.inString() {
			s.held = append(s.held, rest[:len(rest)-len(p)]...)
		}
	}
	if s.esc.state == parser.GroundState {
		s.raw = false
	}
	return p
}

// abandon ends a sequence that turns out to be none.
func (s *Sanitizer) abandon() {
	s.esc.state = parser.GroundState
	if s.raw {
		s.raw = false
		s.restore()
	}
}

// restore takes held, and the byte before it, as text.
func (s *Sanitizer) restore() {
	esc := s.esc
	s.esc.state = parser.GroundState
	s.line.write(replacements[:len(replacement)])
	s.literal = true
	s.feed(s.held)
	s.literal = false
	if s.size > 0 { // it ends in the beginning of a rune
		s.size = 0
		s.line.write(replacements[:len(replacement)])
	}
	s.esc = esc
}

// stringText returns the length of the longest prefix of p that means nothing
// in a string.
func stringText(p []byte) int {
	for i := 0; ; {
		i += printableASCII(p[i:])
		if i == len(p) || p[i] < utf8.RuneSelf {
			return i
		}
		n, ok := runeLen(p[i:])
		if n == 0 || !ok && p[i] == 0x9c || ok && p[i] == 0xc2 && p[i+1] == 0x9c {
			return i
		}
		i += n
	}
}

// stringRune takes a rune within a string, or a byte that is none, and returns
// what is left of p.
func (s *Sanitizer) stringRune(p []byte) []byte {
	n, ok := runeLen(p)
	switch {
	case n == 0:
		s.size = copy(s.part[:], p)
		return nil
	case s.esc.length+n > maxEscape:
		s.abandon()
		return p
	case !ok && p[0] == 0x9c, ok && p[0] == 0xc2 && p[1] == 0x9c: // ST
		s.esc.state = parser.GroundState
	}
	s.esc.length += n
	return p[n:]
}

// step takes an ASCII byte of a sequence.
func (s *Sanitizer) step(b byte) {
	from := s.esc.state
	next, action := parser.Table.Transition(from, b)
	s.esc.state = next
	switch action {
	case parser.ExecuteAction:
		s.control(b)
	case parser.ParamAction:
		s.esc.digit(b)
	case parser.PrefixAction, parser.CollectAction:
		s.esc.other = true
	case parser.DispatchAction:
		if (from == parser.CsiEntryState || from == parser.CsiParamState) && !s.esc.other {
			s.line.edit(b, s.esc.param)
		}
	}
	if next == parser.EscapeState && b == 0x1b {
		s.esc.begin(b)
	}
}

// digit takes a byte of the parameters.
func (e *escape) digit(b byte) {
	switch {
	case b < '0' || b > '9':
		e.more = true
	case !e.more:
		e.param = min(max(e.param, 0)*10+int(b-'0'), maxLine)
	}
}
