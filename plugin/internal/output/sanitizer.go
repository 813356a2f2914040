package output

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/parser"
)

const replacement = "\uFFFD" // stands for bytes that are not UTF-8

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
// It is not safe for concurrent use. A new one holds no buffers; one in use
// holds a few times maxLine at most.
type Sanitizer struct {
	line line
	esc  escape

	part  [utf8.UTFMax]byte // the beginning of a rune that the last Write ended in
	size  int               // of part
	whole [utf8.UTFMax]byte // the rune, while it is handled

	// A string that begins with a byte that is no UTF-8 may be none, but text in
	// an old encoding: then it was all text.
	raw     bool   // esc is one
	held    []byte // of it so far, behind that byte
	literal bool   // held is taken as text

	altered bool // something was not handed on as it came
}

// NewSanitizer returns a Sanitizer that hands finished text on to w. What it
// hands on is valid during the call only.
func NewSanitizer(w io.Writer) *Sanitizer { return &Sanitizer{line: line{w: w}} }

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
	n := 0
	for s.size > n && n < len(p) {
		s.resume(p[n])
		n++
	}
	if s.size <= n { // what is left of a rune, if anything, is of this chunk
		n, s.size = n-s.size, 0
		s.feed(p[n:])
	}
	s.line.rest()
	return len(p), nil
}

// Line returns the line being written as a terminal would show it now, without
// what was handed on already. It is valid until the next Write.
func (s *Sanitizer) Line() []byte { return s.line.text() }

// Close hands on the line being written. An escape sequence that did not end
// is dropped, unless it was text.
func (s *Sanitizer) Close() error {
	isText := s.esc.state == parser.GroundState || s.raw
	cutShort := s.size > 0
	s.size = 0
	s.abandon()
	if cutShort && isText {
		s.line.write(replacements[:len(replacement)])
	}
	s.line.settle()
	s.line.finish()
	s.line.begin(len(s.line.buf))
	s.line.flush()
	return nil
}

// feed handles a chunk up to a rune that is not complete.
func (s *Sanitizer) feed(p []byte) {
	for len(p) > 0 {
		if s.esc.state == parser.GroundState {
			p = s.text(p)
		} else {
			p = s.escaped(p)
		}
	}
}

// text handles a chunk up to an escape sequence and returns what is left of it.
func (s *Sanitizer) text(p []byte) []byte {
	for len(p) > 0 {
		n, atEnd := 1, s.line.atEnd()
		switch b := p[0]; {
		case b == 0x1b:
			s.altered = true
			if n = skip(p, atEnd); n == 0 {
				s.esc.begin(b)
				return p[1:]
			}
		case b < ' ' && (b != '\n' && b != '\t' || !atEnd), b == 0x7f:
			s.altered = true
			if len(p) > 1 && p[1] == b {
				n = once(p)
			}
			if b != '\r' || len(p) == 1 || p[1] != '\n' {
				s.control(b)
			}
		default:
			if n = s.clean(p, atEnd); n == 0 {
				return s.unclean(p)
			}
		}
		p = p[n:]
	}
	return nil
}

// clean writes the clean text that p begins with, or some of it, and returns
// its length.
func (s *Sanitizer) clean(p []byte, atEnd bool) int {
	if !atEnd {
		n := printablePrefix(p)
		s.line.write(p[:n])
		return n
	}
	if n := s.line.addShort(p); n > 0 {
		return n
	}
	n := cleanPrefix(p)
	s.line.add(p[:n])
	return n
}

// skip returns the length of the sequences that p begins with as far as they
// change nothing: colours, and erasures at the end of the line.
func skip(p []byte, atEnd bool) int {
	i := 0
	for len(p)-i > 2 && p[i] == 0x1b && p[i+1] == '[' {
		j := i + 2
		for j < len(p) && p[j]-'0' <= ';'-'0' {
			j++
		}
		if j == len(p) || j-i >= maxEscape || p[j] != 'm' && (p[j] != 'K' || j > i+2 || !atEnd) {
			break
		}
		i = j + 1
	}
	return i
}

// once returns how many of the equal control bytes that p begins with do what
// one does.
func once(p []byte) int {
	switch p[0] {
	case '\n', '\t', '\b':
		return 1
	}
	return same(p)
}

// control executes a control byte.
func (s *Sanitizer) control(b byte) {
	switch b {
	case '\n':
		s.line.newline()
	case '\t':
		s.line.tab()
	case '\r':
		s.line.moveTo(0)
	case '\b':
		s.line.afford()
		s.line.move(-1)
	}
}

// unclean handles what begins with a byte that is not ASCII and not clean.
func (s *Sanitizer) unclean(p []byte) []byte {
	n, ok := runeLen(p)
	isC1 := n > 1 && p[0] == 0xc2 && p[1] < 0xa0
	s.altered = s.altered || !ok || isC1
	switch {
	case n == 0:
		s.size = copy(s.part[:], p)
		return nil
	case isC1 && s.literal:
	case isC1:
		s.esc.begin(p[1])
	case ok:
		s.line.write(p[:n])
	case introduces(p[0]) && !s.literal:
		s.esc.begin(p[0])
		s.raw, s.held = p[0] != rawCSI, s.held[:0]
	default:
		n = s.replace(p, n)
	}
	return p[n:]
}

// replace writes what stands for n bytes that p begins with, which are not
// UTF-8, and for those that follow and are not either. It returns their length.
func (s *Sanitizer) replace(p []byte, n int) int {
	count := 1
	for ; n < len(p) && p[n] >= utf8.RuneSelf && count < maxReplaced; count++ {
		size, ok := runeLen(p[n:])
		if ok || introduces(p[n]) && !s.literal {
			break
		}
		n += size
	}
	s.line.write(replacements[:count*len(replacement)])
	return n
}

const maxReplaced = 64 // at a time

var replacements = bytes.Repeat([]byte(replacement), maxReplaced)

const rawCSI = 0x9b

// introduces reports whether a byte that is no UTF-8 begins a sequence on a
// terminal of eight bits.
func introduces(b byte) bool {
	switch b {
	case 0x90, 0x98, rawCSI, 0x9d, 0x9e, 0x9f:
		return true
	}
	return false
}

// resume takes the next byte of a rune that was not complete.
func (s *Sanitizer) resume(b byte) {
	s.part[s.size] = b
	s.size++
	if n, _ := runeLen(s.part[:s.size]); n > 0 { // complete, or it never will be
		whole := s.whole[:copy(s.whole[:], s.part[:s.size])]
		s.size = 0
		s.feed(whole)
	}
}
