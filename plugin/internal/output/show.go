package output

import (
	"fmt"
	"os"

	"bashplugin/shared"
)

// Show returns what a Result shows under the limits: everything so far, or
// only what no Result has shown. Either counts as shown. Where the Result names
// a log, the log has everything by then, unless PathError says why not.
func (s *Stream) Show(limits shared.Limits, all bool) shared.Output {
	v := s.look(limits, all)
	if v.isBehind() {
		path, _ := s.sync()
		v.read(path)
	}
	out := v.show()
	if v.from > 0 || out.Truncated {
		s.Keep()
	}
	if out.Path, out.PathError = s.sync(); out.Path != "" {
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
	out := shared.Output{TotalBytes: s.endLocked(), TotalLines: s.totalLinesLocked()}
	if s.log != nil {
		s.log.waitLocked(1) // the first question made the file
		out.Path, out.PathError = s.log.path, s.log.problem
	}
	return out
}

// sync waits until the log, if there is one, has everything. It returns its path
// and why it is incomplete.
func (s *Stream) sync() (path, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return "", ""
	}
	s.log.askLocked()
	s.log.waitLocked(s.log.asked)
	return s.log.path, s.log.problem
}

func (s *Stream) totalLinesLocked() int64 {
	if len(s.san.Line()) > 0 || s.tail.end > 0 && !s.tail.endsInNewline() {
		return s.lines + 1
	}
	return s.lines
}
