package output

import (
	"cmp"
	"strings"
	"unicode/utf8"
	"weak"

	"bashplugin/shared"
)

// View says which text Show shows. The zero value means the text that no Result has shown
// yet; from then on it counts as shown.
type View struct {
	All  bool // all text so far
	Peek bool // what counts as shown does not change

	// For is the Result that shows the text, for Unsee. It may be nil.
	For *shared.Result
}

// Show returns the stream for a Result, cut to the limits. If the Output names a log,
// the log is complete, unless PathError says why not.
func (s *Stream) Show(limits shared.Limits, which View) shared.Output {
	v := s.view(limits, which)
	log, problem := s.sync()
	out := v.show(log)
	if log == nil && (v.from > 0 || out.Truncated) {
		s.Keep()
		log, problem = s.sync()
	}
	if limits.Notable > 0 && out.Truncated {
		out.Notable = v.notable(log, out)
	}
	out.Path = log.where()
	out.PathError = cmp.Or(log.problem(), problem)
	return out
}

// Outline is Show without content: nothing counts as shown.
func (s *Stream) Outline() shared.Output {
	log, problem := s.sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.totalsLocked(s.san.Line())
	out.Path = log.where()
	out.PathError = problem
	return out
}

// view is the part of a stream that a Result shows, as it is at one moment.
type view struct {
	limits shared.Limits
	about  shared.Output // of the whole stream

	// The Result is about the bytes from position from to position end. line is the number
	// of the line at from, and lines the number of newlines before end.
	from  int64
	end   int64
	line  int64
	lines int64

	// text should begin at position want, one byte before the part that fits the limits.
	// It ends at end. It begins later if only the log has the bytes at want.
	want int64
	text []byte
}

// view returns a view, and counts everything so far as shown unless it is a Peek.
func (s *Stream) view(limits shared.Limits, which View) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.san.Line()
	about := s.totalsLocked(line)
	about.Partial = !s.ended && len(line) > 0
	v := &view{limits: limits, about: about, end: about.TotalBytes, line: 1, lines: s.lines}
	if !which.All {
		v.from = min(s.freshLocked(s.shown, line), v.end)
		v.line = s.shown.line + 1
	}
	// One byte more than fits shows whether a line begins where the limit falls.
	v.want = max(v.from, v.end-int64(limits.MaxBytes)-1)
	if limits.Ends > 0 && v.from >= s.tail.start() {
		v.want = v.from // the log may not exist yet
	}
	v.text = s.textLocked(v.want, line)
	if !which.Peek {
		s.countLocked(line, which.For)
	}
	return v
}

// countLocked counts everything so far as shown by a Result.
func (s *Stream) countLocked(line []byte, by *shared.Result) {
	now := s.cursorLocked(line)
	if now == s.shown {
		return
	}
	s.before = s.shown
	s.shownBy = weak.Make(by)
	s.shown = now
}

// Unsee makes what a Result has shown count as not shown: the host never saw the Result. If a later
// Result has shown more, the text is in the log only.
func (s *Stream) Unsee(r *shared.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != nil && s.shownBy == weak.Make(r) {
		s.shown = s.before
		s.shownBy = weak.Make[shared.Result](nil)
	}
}

// begin is the position where text begins.
func (v *view) begin() int64 { return v.end - int64(len(v.text)) }

// show cuts the view down to its limits. Text that is no longer in memory comes from
// the log, if the log has it.
func (v *view) show(log *logReader) shared.Output {
	if missing := int(v.begin() - v.want); missing > 0 {
		if older := log.text(v.want, missing); len(older) == missing {
			v.text = append(older, v.text...)
		}
	}
	out := v.about
	c := cutTail(v.text, v.begin() == v.from, v.limits.MaxLines, v.limits.MaxBytes)
	ends := min(v.limits.Ends, v.limits.MaxBytes/2)
	if c.by != "" && ends > 0 {
		out.Head, c = v.bothEnds(log, c.by, ends)
	}
	kept := v.text[c.from:]
	out.Content = string(kept)
	out.Truncated = c.by != ""
	out.TruncatedBy = c.by
	out.StartsMidLine = c.mid
	out.LastLinePartial = c.partial
	out.OutputBytes = len(out.Head) + len(out.Content)
	out.OutputLines = countLines([]byte(out.Head)) + countLines(kept)
	if v.cutsOneLine(out) {
		out.OutputLines--
	}
	return out
}

// bothEnds cuts a view that exceeds a limit down to its beginning and its end, of at most
// this many bytes each. It cuts nothing if these two are the whole view.
func (v *view) bothEnds(log *logReader, by string, ends int) (head string, tail cut) {
	size := v.end - v.from
	whole := v.begin() == v.from
	if whole && size <= int64(2*ends) {
		return "", cut{}
	}
	text := v.text
	if !whole {
		text = log.text(v.from, ends+utf8.UTFMax)
	}
	head = string(text[:cutHead(text, ends)])
	rest := min(ends, int(size)-len(head)) // no byte twice
	tail = cutTail(v.text, whole, -1, rest)
	return head, cut{from: tail.from, by: by, mid: tail.mid && tail.from < len(v.text)}
}

// cutsOneLine reports whether Head ends within the line in which Content begins.
func (v *view) cutsOneLine(out shared.Output) bool {
	if out.Head == "" || out.Content == "" || strings.HasSuffix(out.Head, "\n") {
		return false
	}
	lastOfHead := v.line + int64(strings.Count(out.Head, "\n"))
	firstOfContent := v.lines + 1 - int64(strings.Count(out.Content, "\n"))
	return lastOfHead == firstOfContent
}
