package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"bashplugin/shared"
)

// Show returns what a Result shows under the limits: everything so far, or
// only what no Result has shown. Either counts as shown. Where it shows less
// than everything, the log has the rest, the line being written included.
func (s *Stream) Show(limits shared.Limits, all bool) shared.Output {
	calm := s.in.TryLock() // a flood goes on otherwise, and its log follows
	if !calm && s.needsLog(limits, all) {
		s.in.Lock()
		calm = true
	}
	if calm {
		s.flush()
	}
	out, less, cutLine := s.show(limits, all)
	if less && !calm && (cutLine || out.Path == "" && out.PathError == "") {
		s.in.Lock()
		calm = true
	}
	if calm {
		if less || out.Path != "" {
			s.flush() // again, where the flood went on before it was stopped
			s.complete(&out)
		}
		s.in.Unlock()
	}
	if out.Path != "" {
		if _, err := os.Lstat(out.Path); err != nil {
			out.PathError = fmt.Sprintf("the log cannot be found any more: %v", cause(err))
		}
	}
	return out
}

// Outline is Show without content: nothing counts as shown.
func (s *Stream) Outline() shared.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := shared.Output{TotalBytes: s.tail.end + int64(len(s.line)), TotalLines: s.totalLines()}
	s.describe(&out)
	return out
}

// complete makes the log that a Result names hold everything. in is held.
func (s *Stream) complete(out *shared.Output) {
	s.keep()
	var err error
	if s.log.stop == nil {
		err = s.log.sketch(s.san.Line())
	}
	s.publish()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.describe(out); err != nil {
		out.PathError = err.Error()
	}
}

// needsLog reports whether a Result may show more than memory holds.
func (s *Stream) needsLog(limits shared.Limits, all bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := int64(0)
	if !all {
		if s.isBehind(s.shown) {
			return true
		}
		from = s.fresh(&s.shown)
	}
	end := s.tail.end + int64(len(s.line))
	return limits.Ends > 0 || max(from, end-int64(limits.MaxBytes)-floodChunk) < s.tail.start()
}

func (s *Stream) describe(out *shared.Output) {
	out.Path = s.path
	if s.pathErr != nil {
		out.PathError = s.pathErr.Error()
	}
}

// show reports besides whether the output is less than the whole stream, and
// whether a part of the line being written is missing in it.
func (s *Stream) show(limits shared.Limits, all bool) (out shared.Output, less, cutLine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := int64(0)
	if !all {
		from = s.fresh(&s.shown)
	}
	end := s.tail.end + int64(len(s.line))
	out = shared.Output{TotalBytes: end, TotalLines: s.totalLines()}
	s.describe(&out)
	s.fill(&out, from, limits)
	s.shown = s.markNow()
	return out, from > 0 || out.Truncated, len(out.Content) < len(s.line)
}

func (s *Stream) totalLines() int64 {
	if len(s.line) > 0 || s.tail.end > 0 && s.last != '\n' {
		return s.lines + 1
	}
	return s.lines
}

// fill cuts what begins at from down to the limits.
func (s *Stream) fill(out *shared.Output, from int64, limits shared.Limits) {
	size := out.TotalBytes - from
	// One byte more than fits shows whether a line begins where the limit falls.
	text, begin := s.text(max(from, out.TotalBytes-int64(limits.MaxBytes)-1))
	c := cutTail(text, begin == from, limits.MaxLines, limits.MaxBytes)
	kept := text[c.from:]
	if ends := min(limits.Ends, limits.MaxBytes/2); c.by != "" && ends > 0 {
		c.partial = false
		if size <= int64(2*ends) && begin == from {
			c, kept = cut{}, text
		} else {
			out.Head = s.headAt(from, ends)
			rest := min(int64(ends), size-int64(len(out.Head))) // nothing twice
			kept = text[runeStart(text, max(0, len(text)-int(rest))):]
		}
	}
	out.Content = string(kept)
	out.Truncated, out.TruncatedBy, out.LastLinePartial = c.by != "", c.by, c.partial
	out.OutputBytes = len(out.Head) + len(out.Content)
	out.OutputLines = countLines([]byte(out.Head)) + countLines(kept)
}

// text returns a copy of the stream from a position on, and that position,
// which is a later one where neither the tail nor the log holds the bytes.
func (s *Stream) text(from int64) ([]byte, int64) {
	start := s.tail.start()
	text := make([]byte, 0, max(0, s.tail.end-from)+int64(len(s.line)))
	if from < start {
		if text = append(text, s.readLog(from, int(start-from))...); int64(len(text)) < start-from {
			text, from = text[:0], start
		}
	}
	if at := max(from, start); at < s.tail.end {
		return append(s.tail.appendFrom(text, at, s.tail.max), s.line...), from
	}
	return append(text, s.line[from-s.tail.end:]...), from
}

// headAt returns up to n bytes that begin at from, cut at a rune's end, from
// wherever they still are.
func (s *Stream) headAt(from int64, n int) string {
	text := s.head // which may end amid a rune, but not before n+utf8.UTFMax
	if from > 0 || len(text) < n+utf8.UTFMax {
		if from < s.tail.start() {
			text = s.readLog(from, n+utf8.UTFMax)
		} else {
			text, _ = s.text(from)
		}
	}
	return string(text[:cutRune(text, n)])
}

// readLog reads up to n bytes of the log at from.
func (s *Stream) readLog(from int64, n int) []byte {
	if s.path == "" {
		return nil
	}
	file, err := os.Open(s.path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text := make([]byte, n)
	got, err := file.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return text[:got]
}
