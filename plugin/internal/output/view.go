package output

import (
	"errors"
	"io"
	"os"
	"unicode/utf8"

	"bashplugin/shared"
)

// view is a stream at one moment, as far as a Result shows it.
type view struct {
	limits shared.Limits
	from   int64 // the Result shows what follows
	want   int64 // text should begin here, a byte before what fits
	end    int64
	lines  int64
	text   []byte // up to end; where only the log has the beginning, without it
	head   []byte // with Limits.Ends what follows from; nil: the log has it
}

// look returns a view, and counts what it shows as shown.
func (s *Stream) look(limits shared.Limits, all bool) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &view{limits: limits, end: s.endLocked(), lines: s.totalLinesLocked()}
	if !all {
		v.from = min(s.freshLocked(s.shown), v.end)
	}
	// One byte more than fits shows whether a line begins where the limit falls.
	v.want = max(v.from, v.end-int64(limits.MaxBytes)-1)
	v.text = s.textLocked(v.want)
	if limits.Ends > 0 {
		v.head = s.headLocked(v.from, limits.Ends+utf8.UTFMax)
	}
	s.shown = s.markLocked()
	return v
}

// headLocked returns up to n bytes from a position on, nil where memory does
// not have them any more.
func (s *Stream) headLocked(from int64, n int) []byte {
	switch {
	case from == 0 && len(s.head) >= n:
		return s.head[:n] // nothing changes it
	case from >= s.tail.start():
		text := s.textLocked(from)
		return text[:min(n, len(text))]
	}
	return nil
}

// begin is the position where text begins.
func (v *view) begin() int64 { return v.end - int64(len(v.text)) }

// isBehind reports whether only the log has a part.
func (v *view) isBehind() bool {
	return v.begin() > v.want || v.limits.Ends > 0 && v.head == nil
}

// read reads from the log what memory does not have, as far as the log has it.
func (v *view) read(path string) {
	if missing := int(v.begin() - v.want); missing > 0 {
		if older := readLog(path, v.want, missing); len(older) == missing {
			v.text = append(older, v.text...)
		}
	}
	if v.limits.Ends > 0 && v.head == nil {
		v.head = readLog(path, v.from, v.limits.Ends+utf8.UTFMax)
	}
}

// show cuts the view down to its limits.
func (v *view) show() shared.Output {
	out := shared.Output{TotalBytes: v.end, TotalLines: v.lines}
	c := cutTail(v.text, v.begin() == v.from, v.limits.MaxLines, v.limits.MaxBytes)
	kept := v.text[c.from:]
	if ends := min(v.limits.Ends, v.limits.MaxBytes/2); c.by != "" && ends > 0 {
		c.partial = false
		if size := v.end - v.from; size <= int64(2*ends) && v.begin() == v.from {
			c, kept = cut{}, v.text
		} else {
			out.Head = string(v.head[:cutRune(v.head, ends)])
			rest := min(ends, int(size)-len(out.Head)) // nothing twice
			kept = v.text[runeStart(v.text, max(0, len(v.text)-rest)):]
		}
	}
	out.Content = string(kept)
	out.Truncated, out.TruncatedBy, out.LastLinePartial = c.by != "", c.by, c.partial
	out.OutputBytes = len(out.Head) + len(out.Content)
	out.OutputLines = countLines([]byte(out.Head)) + countLines(kept)
	return out
}

// readLog reads up to n bytes of a log from a position on.
func readLog(path string, from int64, n int) []byte {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
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
