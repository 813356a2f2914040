package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bashplugin/shared"
)

// maxTasks is how many jobs a toolset knows by id: as many as this module's plugin
// runs and keeps.
const maxTasks = 512

// task is a job that a model knows by an id.
type task struct {
	id      string
	pid     int
	started time.Time                     // tells the job from a later one with the same pid
	final   atomic.Pointer[shared.Result] // the last account of a task that this toolset killed: the Bash has forgotten it
}

// is reports whether r is an account of the task.
func (t *task) is(r shared.Result) bool { return r.PID == t.pid && r.Started.Equal(t.started) }

// tasks are the jobs of one toolset. Another toolset over the same Bash knows
// none of them. It is safe for concurrent use.
type tasks struct {
	bash   shared.Bash
	prefix string // of the ids
	limits shared.Limits

	mu   sync.Mutex // guards list; held over a Check while the list is full
	list []*task    // oldest first, at most maxTasks
}

// addJob gives an id to the job that a command has become. It returns "" if there
// is no job: the command is over, and did not run in the background.
func (s *tasks) addJob(ctx context.Context, r *shared.Result, mode shared.Mode) string {
	if r.PID == 0 || over(r) && mode != shared.ModeBackground {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == maxTasks {
		s.pruneLocked(ctx)
	}
	id := s.newIDLocked()
	s.list = append(s.list, &task{id: id, pid: r.PID, started: r.Started})
	return id
}

// newIDLocked returns an id that is new here. It is random, so that an id of an earlier
// toolset, which a model may remember, reaches nothing.
func (s *tasks) newIDLocked() string {
	for {
		id := s.prefix + strings.ToLower(rand.Text()[:4])
		if !slices.ContainsFunc(s.list, func(t *task) bool { return t.id == id }) {
			return id
		}
	}
}

// pruneLocked drops the tasks that the Bash has forgotten, or else the oldest.
func (s *tasks) pruneLocked(ctx context.Context) {
	all, err := s.bash.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	if err == nil {
		s.list = slices.DeleteFunc(s.list, func(t *task) bool { return !slices.ContainsFunc(all.Jobs, t.is) })
	}
	if len(s.list) == maxTasks {
		s.list = slices.Delete(s.list, 0, 1)
	}
}

// check returns a task and an account of it, which is always the final one if this
// toolset killed the task. The error is shared.ErrNotFound for an id that is not
// this toolset's, or that the Bash has forgotten.
func (s *tasks) check(ctx context.Context, id string, req shared.CheckRequest) (*task, *shared.Result, error) {
	t := s.find(id)
	if t == nil {
		return nil, nil, &shared.Error{Code: shared.CodeNotFound, Message: "there is no background process with the id " + quote(id)}
	}
	if final := t.final.Load(); final != nil {
		return t, final, nil
	}
	req.PID, req.Limits = t.pid, s.limits
	r, err := s.bash.Check(ctx, req)
	if err == nil && !t.is(*r) {
		err = &shared.Error{Code: shared.CodeNotFound, Message: "its pid belongs to a later command"}
	}
	return t, r, err
}

// await is check after waiting for the end of a task or for a match in its output.
func (s *tasks) await(ctx context.Context, id string, wait time.Duration, pattern string, all bool) (*shared.Result, error) {
	if pattern != "" {
		wait = cmp.Or(wait, defaultWait)
	}
	_, r, err := s.check(ctx, id, shared.CheckRequest{All: all, Wait: wait, WaitFor: pattern})
	return r, err
}

// unmatched says so if await has found no match.
func unmatched(r *shared.Result, pattern string) string {
	if pattern == "" || r.Matched {
		return ""
	}
	return "; the output has not matched wait_for"
}

// kill ends a task and returns its last account, with the output that no answer has
// shown. If the task was over before, had is true, and the account is that of a check.
func (s *tasks) kill(ctx context.Context, id string) (r *shared.Result, had bool, err error) {
	t, unread, err := s.check(ctx, id, shared.CheckRequest{})
	if err != nil || over(unread) {
		return unread, true, err
	}
	final, err := s.bash.Kill(ctx, shared.KillRequest{PID: t.pid, Limits: s.limits})
	if err != nil {
		return nil, false, err
	}
	last := *final
	last.Stdout, last.Stderr = since(unread.Stdout, final.Stdout), since(unread.Stderr, final.Stderr)
	if over(final) {
		t.final.Store(withoutOutput(last))
	}
	return &last, false, nil
}

// problem says in words for the model why there is no account of a task. noun is what the
// dialect calls it.
func (s *tasks) problem(noun, id string, err error) string {
	switch {
	case !errors.Is(err, shared.ErrNotFound) || errors.Is(err, shared.ErrCrashed):
		return err.Error()
	case s.find(id) != nil:
		return fmt.Sprintf("the %s %s has ended and its output is not kept any more.", noun, id)
	}
	return fmt.Sprintf("there is no %s %s. %s", noun, quote(id), s.newest())
}

// since cuts the final output of a stream to the part that no answer has shown.
// unread is the stream's Output from the last Check before the Kill. The part
// begins with a whole line: a line that was shown unfinished is shown again,
// because the process may have rewritten it.
func since(unread, final shared.Output) shared.Output {
	end := len(final.Content)
	at := int(unread.TotalBytes-final.TotalBytes) - len(unread.Content) + end
	if at < 0 {
		return final
	}
	if at > end { // the line has become shorter
		at = max(0, end-1)
	}
	out := final
	out.Content = final.Content[strings.LastIndexByte(final.Content[:at], '\n')+1:]
	out.Truncated, out.TruncatedBy, out.LastLinePartial = false, "", false
	out.OutputBytes, out.OutputLines = len(out.Content), lineCount(out.Content)
	return out
}

// withoutOutput returns the account without the output, which was shown already.
func withoutOutput(r shared.Result) *shared.Result {
	for _, o := range []*shared.Output{&r.Stdout, &r.Stderr} {
		*o = shared.Output{TotalLines: o.TotalLines, TotalBytes: o.TotalBytes, Path: o.Path, PathError: o.PathError}
	}
	return &r
}

// find returns nil for an unknown id.
func (s *tasks) find(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(t *task) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	return s.list[i]
}

// known returns the tasks that have an id.
func (s *tasks) known() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// newest lists the newest ids, for a model that has lost one.
func (s *tasks) newest() string {
	const most = 10
	list, words := s.known(), "There are "
	if len(list) == 0 {
		return "There are none."
	}
	if len(list) > most {
		list, words = list[len(list)-most:], "The newest are "
	}
	var ids []string
	for _, t := range list {
		ids = append(ids, t.id)
	}
	return words + strings.Join(ids, ", ") + "."
}
