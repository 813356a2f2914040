package sanitize

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
// A C1 control leads from ground to where its two-byte form does. CAN, SUB and a
// length of maxEscape end every sequence, and ESC begins another.
type escape struct {
	state  parser.State // ground: there is none
	length int          // bytes so far
	param  int          // the first parameter of a control sequence; -1 where there is none
	more   bool         // later parameters do not matter
	other  bool         // a prefix or intermediate gives it another meaning
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

// begin begins a sequence with ESC or a C1 control, which had so many bytes.
func (s *Sanitizer) begin(b byte, size int) {
	s.dropped += int64(size)
	s.esc = escape{length: 1, param: -1}
	s.esc.state, _ = parser.Table.Transition(parser.GroundState, b)
}

// escaped handles a chunk within an escape sequence and returns the rest of it
// behind the sequence.
func (s *Sanitizer) escaped(p []byte) []byte {
	for len(p) > 0 && s.esc.state != parser.GroundState {
		n := 1
		switch b := p[0]; {
		case s.esc.length >= maxEscape,
			b == '\n' && s.esc.inString(), // no string that programs send has one, but a title that was never ended runs into it
			b >= utf8.RuneSelf && !s.esc.inString():
			s.esc.state = parser.GroundState
			return p
		case b == 0xc2:
			if len(p) == 1 {
				s.size = copy(s.part[:], p)
				return nil
			}
			if p[1] == 0x9c { // ST
				s.esc.state = parser.GroundState
				n = 2
			}
		case b >= utf8.RuneSelf:
		case b >= ' ' && s.esc.inText():
			n = stringText(p[:min(len(p), maxEscape-s.esc.length)])
		default:
			s.step(b)
		}
		s.esc.length += n
		s.dropped += int64(n)
		p = p[n:]
	}
	return p
}

// stringText returns the length of what means nothing in a string.
func stringText(p []byte) int {
	for i, b := range p {
		if b < ' ' || b == 0xc2 {
			return i
		}
	}
	return len(p)
}

// step takes an ASCII byte of a sequence.
func (s *Sanitizer) step(b byte) {
	from := s.esc.state
	next, action := parser.Table.Transition(from, b)
	s.esc.state = next
	switch action {
	case parser.ExecuteAction:
		s.control(b)
		s.dropped-- // escaped counts it
	case parser.ParamAction:
		s.esc.digit(b)
	case parser.PrefixAction, parser.CollectAction:
		s.esc.other = true
	case parser.DispatchAction:
		if (from == parser.CsiEntryState || from == parser.CsiParamState) && !s.esc.other {
			s.carriageReturn()
			s.line.edit(b, s.esc.param)
		}
	}
	if next == parser.EscapeState && b == 0x1b {
		s.esc = escape{state: next, param: -1}
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
