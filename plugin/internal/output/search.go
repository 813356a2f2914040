package output

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"bashplugin/plugin/internal/sanitize"
	"bashplugin/shared"
)

const (
	// searchReach is how many bytes of the log are searched at each end of the part that
	// the limits cut out.
	searchReach = 4 << 20

	// searchStep is how many bytes are searched at a time. A longer line is searched as
	// one.
	searchStep = 1 << 20

	// foundBytes is how much of a line's text a Result has.
	foundBytes = 500
)

// search looks for notable lines in a log. It may see only a part of a line, at either end
// of its reach; the line is notable if that part is.
type search struct {
	log    *logReader
	step   int64
	reach  int64
	most   int   // lines to keep
	head   []hit // the first lines found
	tail   []hit // the last lines found
	newest int64 // number of the line found last
}

// hit is a notable line.
type hit struct {
	number int64
	at     int64 // position of the part that was found
	begins bool  // the line begins at this position
}

// ends searches both ends of a part of the log. The part begins in the line with the number
// first and ends in the line with the number last.
func (s *search) ends(from, to, first, last int64) {
	if to-from <= 2*s.reach {
		s.part(from, to, first)
		return
	}
	s.part(from, from+s.reach, first)
	if s.log.size() < to { // the log has stopped
		return
	}
	from = to - s.reach
	s.part(from, to, last-s.countNewlines(from, to))
}

// part searches a part of the log that begins in the line with this number.
func (s *search) part(from, to, number int64) {
	begins := from == 0 || bytes.Equal(s.log.text(from-1, 1), newline)
	for from < to {
		text := s.read(from, to)
		if len(text) == 0 {
			return // the log has stopped
		}
		counted := 0
		for _, start := range notableLines(text, begins) {
			number += int64(bytes.Count(text[counted:start], newline))
			counted = start
			s.add(hit{number: number, at: from + int64(start), begins: begins || start > 0})
		}
		number += int64(bytes.Count(text[counted:], newline))
		from += int64(len(text))
		begins = true
	}
}

// read returns the next lines of a part of the log. Only its last one may be unfinished.
func (s *search) read(from, to int64) []byte {
	text := s.log.text(from, int(min(s.step, to-from)))
	end := bytes.LastIndexByte(text, '\n') + 1
	switch {
	case from+int64(len(text)) == to:
		return text
	case end > 0:
		return text[:end]
	}
	return s.log.text(from, int(to-from))
}

// add adds a line, unless it was the last one added. If there are more than s.most lines, the
// first half of s.most and the last half are kept.
func (s *search) add(h hit) {
	if h.number == s.newest {
		return
	}
	s.newest = h.number
	if len(s.head) < (s.most+1)/2 {
		s.head = append(s.head, h)
		return
	}
	s.tail = append(s.tail, h)
	if len(s.tail) > s.most/2 {
		s.tail = slices.Delete(s.tail, 0, 1)
	}
}

// lines returns the lines that were found.
func (s *search) lines() (found []shared.Line) {
	for _, h := range slices.Concat(s.head, s.tail) {
		if !h.begins {
			h.at = s.lineStart(h.at)
		}
		line, _, _ := bytes.Cut(s.log.text(h.at, foundBytes+utf8.UTFMax), newline)
		line = line[:sanitize.CutRune(line, foundBytes)]
		found = append(found, shared.Line{Number: h.number, Text: string(line)})
	}
	return found
}

// lineStart returns the position where the line that contains position at begins. It reads the log
// backwards until it finds the newline before that line.
func (s *search) lineStart(at int64) int64 {
	for at > 0 {
		from := max(0, at-s.step)
		text := s.log.text(from, int(at-from))
		if bytes.Contains(text, newline) { // much quicker than LastIndexByte
			return from + int64(bytes.LastIndexByte(text, '\n')) + 1
		}
		at = from
	}
	return 0
}

// countNewlines counts the newlines in a part of the log.
func (s *search) countNewlines(from, to int64) (n int64) {
	for from < to {
		text := s.log.text(from, int(min(s.step, to-from)))
		n += int64(bytes.Count(text, newline))
		from += s.step
	}
	return n
}
