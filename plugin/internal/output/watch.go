package output

import (
	"bytes"
	"regexp"
)

const (
	watchStep    = 256 << 10 // text looked at in one go, where there is more
	watchOverlap = 64 << 10  // text looked at again: a longer match may be missed
)

// Watch looks for a match in what no Result had shown when it was made. It
// reads the tail or, where it fell behind, the log: the stream does not wait for
// the search. It is not safe for concurrent use.
//
// It looks at text that begins where a line does and, unless that is all there
// is so far, ends where a line does; but where a line is longer than
// watchOverlap, the line's parts may match as if they were lines.
type Watch struct {
	s   *Stream
	re  *regexp.Regexp
	old mark  // a match must end behind what this had shown
	pos int64 // where the next look begins
}

// Watch begins to look for re.
func (s *Stream) Watch(re *regexp.Regexp) *Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Watch{s: s, re: re, old: s.shown, pos: s.shown.pos}
}

// Match looks through what has come since the last call, or through the next
// watchStep of it: then it reports that there is more.
func (w *Watch) Match() (found, more bool) {
	p := w.look()
	if p.start > w.pos {
		path, _ := w.s.sync()
		p.text = readLog(path, w.pos, watchStep)
		read := w.pos + int64(len(p.text))
		if len(p.text) < watchStep && read < p.finished { // the log stopped: pass over what it does not have
			w.pos = p.start
			return false, true
		}
		more = len(p.text) == watchStep && read < p.end
	}
	text := p.text
	if line := bytes.LastIndexByte(text, '\n'); more && line > 0 {
		text = text[:line]
	}
	if w.matches(text, p.fresh) {
		return true, more
	}
	w.advance(p.text, p.finished)
	return false, more
}

// passage is what a Watch looks at.
type passage struct {
	text     []byte // from pos on; nil where only the log has its beginning
	start    int64  // memory has what follows
	fresh    int64  // a match must end behind this position
	finished int64  // what follows may be rewritten
	end      int64
}

// look returns the passage from pos on.
func (w *Watch) look() passage {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	p := passage{start: s.tail.start(), fresh: s.freshLocked(w.old), finished: s.tail.end, end: s.endLocked()}
	if p.start <= w.pos {
		p.text = s.textLocked(w.pos)
	}
	return p
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

// advance passes over finished text, but for its last lines.
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
