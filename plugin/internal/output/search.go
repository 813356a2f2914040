package output

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"bashplugin/plugin/internal/sanitize"
	"bashplugin/shared"
)

const (
	searchReach = 4 << 20 // bytes of the log searched at each end of what was cut
	searchStep  = 1 << 20 // bytes searched at a time; of a longer line, all that is searched
	foundBytes  = 500     // of a line's text
)

// search looks for notable lines in a log. A line is notable if a part of it that was
// searched is.
type search struct {
	log    *logReader
	step   int64
	reach  int64
	most   int   // how many lines it keeps
	head   []hit // the first of them
	tail   []hit // and the last
	newest int64 // number of the line found last
}

// hit is a notable line.
type hit struct {
	number int64
	at     int64 // where it begins, or goes on
	begins bool
}

// ends searches both ends of a part of the log. It begins in the line with the number first,
// and ends in last.
func (s *search) ends(from, to, first, last int64) {
	if to-from <= 2*s.reach {
		s.part(from, to, first)
		return
	}
	s.part(from, from+s.reach, first)
	if s.log.size() < to { // the log has stopped
		return
	}
	s.part(to-s.reach, to, last-s.countNewlines(to-s.reach, to))
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

// add keeps the first half of the lines and the last half, each line once.
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
		found = append(found, shared.Line{Number: h.number, Text: string(line[:sanitize.CutRune(line, foundBytes)])})
	}
	return found
}

// lineStart returns where the line begins that goes on at a position. It reads as much of the
// log as the line has before that.
func (s *search) lineStart(at int64) int64 {
	for at > 0 {
		from := max(0, at-s.step)
		text := s.log.text(from, int(at-from))
		if bytes.Contains(text, newline) { // which is much quicker than LastIndexByte
			return from + int64(bytes.LastIndexByte(text, '\n')) + 1
		}
		at = from
	}
	return 0
}

// countNewlines counts the newlines in a part of the log.
func (s *search) countNewlines(from, to int64) (n int64) {
	for ; from < to; from += s.step {
		n += int64(bytes.Count(s.log.text(from, int(min(s.step, to-from))), newline))
	}
	return n
}
