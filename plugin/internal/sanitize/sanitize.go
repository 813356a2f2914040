package sanitize

import (
	"io"
	"unicode/utf8"
)

const rawCSI = 0x9b // begins a control sequence although it is not UTF-8

// Sanitizer sanitizes a stream. Finished lines, and the front of very long lines, go to
// a writer. The package comment has its two states, ground and escape.
//
// It is not safe for concurrent use. A new Sanitizer holds no buffers; later it
// holds those of its line, at most about 1.4 MiB: 64 Ki columns of 16 bytes, and room to
// grow.
type Sanitizer struct {
	line line
	esc  escape

	// The first size bytes of part are the incomplete rune at the end of the last Write.
	part [utf8.UTFMax]byte
	size int

	// cr is set while a CR waits for what follows: before a newline it has no effect.
	cr      bool
	dropped int64 // see Dropped
}

// New returns a Sanitizer that writes finished text to w. The text is valid only
// during the Write.
func New(w io.Writer) *Sanitizer { return &Sanitizer{line: line{w: w, credit: maxCredit}} }

// Write takes a chunk. It never fails.
func (s *Sanitizer) Write(p []byte) (int, error) {
	n := 0
	for s.size > n && n < len(p) {
		s.resume(p[n])
		n++
	}
	if s.size <= n { // part is empty or all from this chunk: feed reads it again
		n -= s.size
		s.size = 0
		s.feed(p[n:])
	}
	s.line.rest()
	return len(p), nil
}

// Line returns the line being written as a terminal would show it now, without
// the part that is already finished. It is valid until the next Write.
func (s *Sanitizer) Line() []byte { return s.line.shown() }

// Dropped returns how many raw bytes so far were not text: control bytes and
// escape sequences. The CR of a CRLF does not count.
func (s *Sanitizer) Dropped() int64 { return s.dropped }

// Close hands on the line being written and drops an unfinished escape sequence.
func (s *Sanitizer) Close() error {
	if s.size > 0 && s.esc.state == ground {
		s.carriageReturn()
		s.line.replace()
	}
	s.size = 0
	s.line.finish()
	s.line.flush()
	return nil
}

// feed handles a chunk. It keeps an incomplete rune at the end in part.
func (s *Sanitizer) feed(p []byte) {
	for len(p) > 0 {
		if s.esc.state == ground {
			p = s.text(p)
		} else {
			p = s.escaped(p)
		}
	}
}

// text handles a chunk up to an escape sequence and returns the rest.
func (s *Sanitizer) text(p []byte) []byte {
	for len(p) > 0 {
		b := p[0]
		edits := s.line.edited || s.cr && b != '\n'
		if b == 0x1b {
			n := colour(p)
			if n == 0 {
				s.begin(begun, 1)
				return p[1:]
			}
			s.dropped += int64(n)
			p = p[n:]
			continue
		}
		isText := b == '\n' || b == '\t' // line.text takes them if the line is plain
		if b == 0x7f || b < ' ' && (edits || !isText) {
			s.control(b)
			p = p[1:]
			continue
		}
		if edits {
			s.carriageReturn()
		}
		n := s.line.text(p)
		if n == 0 {
			return s.unclean(p)
		}
		s.cr = false
		p = p[n:]
	}
	return nil
}

// colour returns the length of the colour sequence at the beginning of p, 0 if there
// is no complete one. It is quicker than escaped and takes the same bytes.
func colour(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i, b := range p[2:min(len(p), maxEscape)] {
		if b == 'm' {
			return i + 3
		}
		if b < '0' || b > ';' {
			return 0
		}
	}
	return 0
}

// control executes a control byte.
func (s *Sanitizer) control(b byte) {
	if isNewline(b) {
		s.cr = false
		s.line.newline()
		return
	}
	s.carriageReturn()
	switch b {
	case '\r':
		s.cr = true
		return
	case '\t':
		s.line.tab()
		return
	case '\b':
		s.line.move(-1)
	}
	s.dropped++
}

// isNewline reports whether b is LF, VT or FF.
func isNewline(b byte) bool { return b >= '\n' && b <= '\f' }

// carriageReturn carries out a CR that no newline followed.
func (s *Sanitizer) carriageReturn() {
	if s.cr {
		s.cr = false
		s.dropped++
		s.line.moveTo(0)
	}
}

// unclean handles the runes and bytes at the beginning of p that are neither ASCII nor
// clean, up to a control sequence, and returns the rest of p.
func (s *Sanitizer) unclean(p []byte) []byte {
	for len(p) > 0 && p[0] >= utf8.RuneSelf {
		if p[0] == rawCSI {
			s.begin(control, 1)
			return p[1:]
		}
		n, ok := runeLen(p)
		switch {
		case n == 0:
			s.size = copy(s.part[:], p)
			return nil
		case ok && p[0] == 0xc2 && p[1] < 0xa0: // a C1 control
			s.begin(introduced(p[1]-0x40), 2)
			return p[n:]
		case ok:
			return p
		}
		s.line.replace()
		p = p[n:]
	}
	return p
}

// resume takes the next byte of an incomplete rune.
func (s *Sanitizer) resume(b byte) {
	s.part[s.size] = b
	s.size++
	n, _ := runeLen(s.part[:s.size])
	if n == 0 {
		return
	}
	// The rune is complete, or can never be.
	whole := s.part
	size := s.size
	s.size = 0
	s.feed(whole[:size])
}
