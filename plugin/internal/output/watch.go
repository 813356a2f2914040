package output

import (
	"bytes"
	"regexp"
)

const (
	watchStep    = 128 << 10 // bytes of the log searched at a time
	watchOverlap = 64 << 10  // bytes searched again: a longer match may be missed
)

// Watch looks for a match in the text, or in that which no Result had shown when the
// Watch was made. It reads the tail or, if it fell behind, the log: the stream does not wait for the
// search. It is not safe for concurrent use.
//
// Match searches whole lines, and the unfinished line at the end of the stream. A
// line longer than watchOverlap is searched in parts, which may match as if they
// were lines.
type Watch struct {
	s   *Stream
	re  *regexp.Regexp
	old cursor // a match must end after the text that this says was shown
	pos int64  // where the next search begins
}

// Watch begins to look for re, in all text if all is set.
func (s *Stream) Watch(re *regexp.Regexp, all bool) *Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &Watch{s: s, re: re}
	if !all {
		w.old, w.pos = s.shown, s.shown.pos
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
		if !more && w.pos+int64(len(text)) < finished { // the log has stopped: skip the text that it does not have
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

// look returns the text in memory from pos on, the positions where the tail starts and where
// the finished text ends, and that of the first byte not yet shown.
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
