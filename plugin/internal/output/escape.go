package output

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/parser"
)

// csi is what matters of a control sequence: its first parameter.
type csi struct {
	param   int  // -1 where there is none
	more    bool // later parameters do not matter
	private bool // a sequence of another meaning, by its prefix or intermediate
}

// begin begins an escape sequence with ESC or a C1 control.
func (s *Sanitizer) begin(b byte) {
	s.state, _ = parser.Table.Transition(parser.GroundState, b)
	s.length = 1
	s.rest = 0
	s.csi = csi{param: -1}
}

// plainSequence carries out the control sequence that p begins with, if it is
// whole and made of ESC [, digits, semicolons and a final byte, as nearly all
// are: these need no state. It returns the length, 0 where it is not so.
func (s *Sanitizer) plainSequence(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	c := csi{param: -1}
	for i, b := range p[2:min(len(p), 64)] {
		switch {
		case b == 'm':
			return i + 3
		case b >= '0' && b <= ';' && b != ':':
			c.take(b)
		case b >= '@' && b <= '~':
			s.line.edit(b, c.param)
			return i + 3
		default:
			return 0
		}
	}
	return 0
}

func (s *Sanitizer) inString() bool {
	switch s.state {
	case parser.OscStringState, parser.DcsStringState, parser.SosStringState, parser.PmStringState, parser.ApcStringState:
		return true
	}
	return false
}

// escape handles a chunk within an escape sequence and returns what is left of
// it behind the sequence.
func (s *Sanitizer) escape(p []byte) []byte {
	for i, b := range p {
		if s.length++; s.length > maxEscape {
			s.state = parser.GroundState
			return p[i:]
		}
		if s.inString() {
			if !s.stringByte(b) {
				return p[i:]
			}
		} else if !s.sequenceByte(b) {
			return p[i:]
		}
		if s.state == parser.GroundState {
			return p[i+1:]
		}
	}
	return nil
}

// stringByte takes a byte of an OSC, DCS, SOS, PM or APC string. It reports
// false where the string ends before the byte.
func (s *Sanitizer) stringByte(b byte) bool {
	switch {
	case b == '\n': // no string that programs send has one, but a title that was never ended does
		s.state = parser.GroundState
		return false
	case b == 0x9c && (s.rest == 0 || s.lead == 0xc2): // ST, as a byte or as a rune
		s.state = parser.GroundState
		return true
	case s.rest > 0 && b&0xc0 == 0x80:
		s.rest--
		return true
	case b >= utf8.RuneSelf:
		s.rest, s.lead = runeRest(b), b
		return true
	}
	s.rest = 0
	s.state, _ = parser.Table.Transition(s.state, b)
	return true
}

// runeRest returns how many bytes follow the first byte of a rune.
func runeRest(b byte) int {
	switch {
	case b >= 0xf0 && b < 0xf5:
		return 3
	case b >= 0xe0:
		return 2
	case b >= 0xc2:
		return 1
	}
	return 0
}

// sequenceByte takes a byte of any other sequence. It reports false where the
// sequence ends before the byte.
func (s *Sanitizer) sequenceByte(b byte) bool {
	if b >= utf8.RuneSelf {
		s.state = parser.GroundState
		return false
	}
	control := s.state
	next, action := parser.Table.Transition(s.state, b)
	s.state = next
	switch action {
	case parser.ExecuteAction:
		s.control(b)
	case parser.ParamAction:
		s.csi.take(b)
	case parser.PrefixAction, parser.CollectAction:
		s.csi.private = true
	case parser.DispatchAction:
		if isControlSequence(control) && !s.csi.private {
			s.line.edit(b, s.csi.param)
		}
	}
	return true
}

func isControlSequence(state parser.State) bool {
	return state == parser.CsiEntryState || state == parser.CsiParamState
}

// take takes a byte of the parameters.
func (c *csi) take(b byte) {
	switch {
	case b < '0' || b > '9':
		c.more = true
	case !c.more:
		c.param = min(max(c.param, 0)*10+int(b-'0'), maxLine)
	}
}
