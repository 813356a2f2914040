package output

import (
	"bytes"
	"regexp"
)

const (
	// watchStep is how many bytes of the log are searched at a time.
	watchStep = 128 << 10

	// watchOverlap is how many bytes are searched again with the text after them. A match
	// that is longer than this may be missed.
	watchOverlap = 64 << 10
)

// Watch looks for a match in a stream's text: in all of it, or in the part that no Result
// had shown when the Watch was made. It reads the tail or, if it fell behind, the log, so
// the stream never waits for the search. It is not safe for concurrent use.
//
// Match searches whole lines, and the unfinished line at the end of the stream. A
// line longer than watchOverlap is searched in parts, which may match as if they
// were lines.
type Watch struct {
	s   *Stream
	re  *regexp.Regexp
	pos int64 // where the next search begins

	// old is what Results had shown at first. A match must end after it.
	old cursor
}

// Watch begins to look for re, in all text if all is set.
func (s *Stream) Watch(re *regexp.Regexp, all bool) *Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &Watch{s: s, re: re}
	if !all {
		w.old = s.shown
		w.pos = s.shown.pos
	}
	return w
}

// Match searches the text since the last call. If it has to read the log, it searches
// the next watchStep bytes and returns whether there is more.
func (w *Watch) Match() (found, more bool) {
	s := w.s
	text, start, finished, fresh := w.look()
	if start > w.pos {
		log, _ := s.sync()
		text = log.text(w.pos, watchStep)
		more = len(text) == watchStep
		if !more && w.pos+int64(len(text)) < finished {
			// The log has stopped: skip the text that it does not have.
			w.pos = start
			return false, true
		}
	}
	lines := text
	if end := bytes.LastIndexByte(text, '\n'); more && end > 0 {
		lines = text[:end]
	}
	if w.matches(lines, fresh) {
		return true, more
	}
	w.advance(text, finished)
	return false, more
}

// look returns the text in memory from pos on. start is the position where the tail starts,
// finished the one where the finished text ends, and fresh that of the first byte not yet
// shown.
func (w *Watch) look() (text []byte, start, finished, fresh int64) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.san.Line()
	return s.textLocked(w.pos, line), s.tail.start(), s.tail.end, s.freshLocked(w.old, line)
}

// matches looks for a match in text, which begins at pos.
func (w *Watch) matches(text []byte, fresh int64) bool {
	if fresh < w.pos {
		return w.re.Match(text)
	}
	for _, m := range w.re.FindAllIndex(text, -1) {
		if w.pos+int64(m[1]) > fresh {
			return true
		}
	}
	return false
}

// advance moves pos past finished text, except watchOverlap bytes or a little more.
func (w *Watch) advance(text []byte, finished int64) {
	done := min(len(text)-watchOverlap, int(finished-w.pos))
	if done <= 0 {
		return
	}
	if line := bytes.LastIndexByte(text[:done], '\n') + 1; line > 0 {
		done = line
	} else {
		done = runeStart(text, done)
	}
	w.pos += int64(done)
}
