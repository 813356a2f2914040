package output

import (
	"bytes"
	"regexp"
)

const (
	watchStep    = 64 << 10 // text looked at in one go
	watchOverlap = 4 << 10  // text looked at again, for matches across steps
)

// Watch looks for a match in what no Result had shown when it was made. It
// reads the tail or, where it fell behind, the log: the stream does not wait for
// the search. It is not safe for concurrent use.
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

// Match looks through what has come since the last call.
func (w *Watch) Match() bool {
	for {
		text, fresh, more := w.next()
		for _, m := range w.re.FindAllIndex(text, -1) {
			if w.pos+int64(m[1]) > fresh {
				return true
			}
		}
		if !more {
			return false
		}
		w.pos += int64(w.overlap(text))
	}
}

// next returns the text at pos, the position behind which a match counts, and
// whether there is more behind the text. The last text is looked at again the
// next time: its end may be the beginning of a match.
func (w *Watch) next() (text []byte, fresh int64, more bool) {
	for {
		if text, fresh, more, ok := w.look(w.behind()); ok {
			return text, fresh, more
		}
	}
}

// behind reports whether only the log still has what is at pos.
func (w *Watch) behind() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.pos < w.s.tail.start()
}

// look is next, with the log up to date where it is needed. It reports false
// where it turns out to be needed only now.
func (w *Watch) look(withLog bool) (text []byte, fresh int64, more, ok bool) {
	s := w.s
	if withLog {
		s.in.Lock()
		defer s.in.Unlock()
		s.flush()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh = s.fresh(w.old)
	if w.pos < s.tail.start() {
		if !withLog {
			return nil, 0, false, false
		}
		if text = s.readLog(w.pos, watchStep); len(text) > 0 {
			return text, fresh, true, true
		}
		w.pos = s.tail.start() // the log does not hold it: what is left is the tail
	}
	w.pos = min(w.pos, s.tail.end)
	text, _ = s.text(w.pos)
	if len(text) > watchStep {
		return text[:cutRune(text, watchStep)], fresh, true, true
	}
	return text, fresh, false, true
}

// overlap returns how much of text is done with: all but its last lines.
func (w *Watch) overlap(text []byte) int {
	done := max(1, len(text)-watchOverlap)
	if line := bytes.LastIndexByte(text[:done], '\n') + 1; line > 0 {
		return line
	}
	return runeStart(text, done)
}
