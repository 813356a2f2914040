package output

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

const (
	watchStep    = 256 << 10 // text looked at in one go
	watchOverlap = 64 << 10  // text looked at again, for matches across steps
)

// beyond stands in the text for what is before or behind it, which no output
// holds: with it, nothing matches as the beginning or end of the output that
// is not.
const beyond = "\x00"

// Watch looks for a match in what no Result had shown when it was made. It
// reads the tail or, where it fell behind, the log: the stream does not wait for
// the search. It is not safe for concurrent use.
type Watch struct {
	s      *Stream
	re     *regexp.Regexp
	old    mark   // a match must end behind what this had shown
	pos    int64  // where the next look begins
	before []byte // the rune before pos, behind beyond; nothing at first
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
	text, fresh, more := w.next()
	now := len(text)
	if more {
		now = cutLine(text)
	}
	if w.matches(text, now, fresh) {
		return true, more
	}
	w.advance(text[:now], more)
	return false, more
}

// matches looks at the first n bytes of text.
func (w *Watch) matches(text []byte, n int, fresh int64) bool {
	subject := append(bytes.Clone(w.before), text[:n]...)
	end := len(subject)
	if n < len(text) {
		_, size := utf8.DecodeRune(text[n:])
		subject = append(append(subject, text[n:n+size]...), beyond...)
	}
	found, unsure := w.search(subject, end, fresh)
	if unsure && !found { // what took in beyond may do without
		found, _ = w.search(subject[:end], end, fresh)
	}
	return found
}

// search looks for a match in subject that ends where the text does, or before.
// unsure is whether one ends behind that.
func (w *Watch) search(subject []byte, end int, fresh int64) (found, unsure bool) {
	for _, m := range w.re.FindAllIndex(subject, -1) {
		if m[0] < len(w.before) || w.pos+int64(m[1]-len(w.before)) <= fresh {
			continue
		}
		if m[1] <= end {
			return true, unsure
		}
		unsure = true
	}
	return false, unsure
}

// cutLine returns the length of text without its last line or, where that is
// long, without its last rune.
func cutLine(text []byte) int {
	if line := bytes.LastIndexByte(text, '\n') + 1; line > len(text)/2 {
		return line
	}
	return cutRune(text, len(text)-utf8.UTFMax)
}

// advance passes over text, but for its last lines.
func (w *Watch) advance(text []byte, more bool) {
	done := len(text) - watchOverlap
	switch {
	case done <= 0 && !more:
		return
	case done <= 0:
		done = max(1, len(text)/2)
	}
	if line := bytes.LastIndexByte(text[:done], '\n') + 1; line > 0 {
		done = line
	} else {
		done = runeStart(text, done)
	}
	_, size := utf8.DecodeLastRune(text[:done])
	w.before = append([]byte(beyond), text[done-size:done]...)
	w.pos += int64(done)
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

// behind reports whether only the log still has what is needed.
func (w *Watch) behind() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.isBehind()
}

// isBehind is behind, with the stream's mu held.
func (w *Watch) isBehind() bool { return w.pos < w.s.tail.start() || w.s.isBehind(w.old) }

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
	if !withLog && w.isBehind() {
		return nil, 0, false, false
	}
	fresh = s.fresh(&w.old)
	if w.pos < s.tail.start() {
		if text = s.readLog(w.pos, watchStep); len(text) > utf8.UTFMax {
			return text, fresh, true, true
		}
		w.pos, w.before = s.tail.start(), []byte(beyond) // the log does not hold it: what is left is the tail
	}
	w.pos = min(w.pos, s.tail.end)
	text, _ = s.text(w.pos)
	return text, fresh, false, true
}
