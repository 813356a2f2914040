package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	opts   Options
	prefix string // of the ids
	noun   string // for a job, in answers

	mu   sync.Mutex // guards the fields below
	list []*task    // oldest first, at most maxTasks
	made int        // ids so far
}

// addJob gives an id to the job that a command has become. It returns "" if there
// is no job: the command is over, and did not run in the background.
func (s *tasks) addJob(r *shared.Result, mode shared.Mode) string {
	if r.PID == 0 || over(r) && mode != shared.ModeBackground {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == maxTasks { // the oldest that was killed goes, or else the oldest
		i := slices.IndexFunc(s.list, func(t *task) bool { return t.final.Load() != nil })
		s.list = slices.Delete(s.list, max(0, i), max(0, i)+1)
	}
	s.made++
	// The letters keep an id of an earlier session, which a model may remember, from working.
	id := fmt.Sprintf("%s%d%s", s.prefix, s.made, strings.ToLower(rand.Text()[:3]))
	s.list = append(s.list, &task{id: id, pid: r.PID, started: r.Started})
	return id
}

// peek returns a task and an account of it, which is always the final one if this
// toolset killed the task. Its output does not count as shown. The error is
// shared.ErrNotFound for an id that is not this toolset's, or that the Bash has forgotten.
func (s *tasks) peek(ctx context.Context, id string, req shared.CheckRequest) (*task, *shared.Result, error) {
	t := cmp.Or(s.find(id), s.ofProcess(ctx, id))
	if t == nil {
		return nil, nil, &shared.Error{Code: shared.CodeNotFound, Message: "there is no background process with the id " + quote(id)}
	}
	if final := t.final.Load(); final != nil {
		return t, final, nil
	}
	req.PID, req.Limits, req.Peek = t.pid, cmp.Or(req.Limits, s.opts.Limits), true
	r, err := s.bash.Check(ctx, req)
	if err == nil && !t.is(*r) {
		err = &shared.Error{Code: shared.CodeNotFound, Message: "its pid belongs to a later command"}
	}
	return t, r, err
}

// check is peek, and then the output counts as shown, if somebody reads the answer: a
// client whose call has ended, but not by MaxWait, has given up waiting for it.
func (s *tasks) check(ctx context.Context, id string, req shared.CheckRequest) (*task, *shared.Result, error) {
	t, peeked, err := s.peek(ctx, id, req)
	isRead := ctx.Err() == nil || errors.Is(context.Cause(ctx), shared.ErrDetach)
	if err != nil || t.final.Load() != nil || !isRead {
		return t, peeked, err
	}
	again := shared.CheckRequest{PID: t.pid, All: req.All, Limits: cmp.Or(req.Limits, s.opts.Limits)}
	r, err := s.bash.Check(context.WithoutCancel(ctx), again)
	if err == nil && t.is(*r) {
		r.Matched = peeked.Matched
		return t, r, nil
	}
	return t, peeked, nil // the job has gone: this is its last account
}

// await is check after waiting for the end of a task, or for a match in its output. It also
// says so if there was none.
func (s *tasks) await(ctx context.Context, id string, req shared.CheckRequest) (r *shared.Result, said string, err error) {
	if req.WaitFor != "" {
		req.Wait = cmp.Or(req.Wait, time.Minute)
	}
	t, r, err := s.check(ctx, id, req)
	if err == nil && req.WaitFor != "" && !r.Matched && t.final.Load() == nil {
		said = "; the output has not matched wait_for"
	}
	if most := s.opts.MaxWait; err == nil && most > 0 && req.Wait > most && !r.Matched && !over(r) {
		said += s.opts.fill("{call_limit}")
	}
	return r, said, err
}

// kill ends a task. It returns the last account, with the output that no answer has shown,
// and says what was done with it; what is the task's name in that sentence.
func (s *tasks) kill(ctx context.Context, what, id string) (r *shared.Result, said string, err error) {
	t, unread, err := s.peek(ctx, id, shared.CheckRequest{})
	if err == nil && over(unread) {
		_, unread, err = s.check(ctx, id, shared.CheckRequest{})
		return unread, what + " had already ended.", err
	}
	if err != nil {
		return nil, "", err
	}
	final, err := s.bash.Kill(ctx, shared.KillRequest{PID: t.pid, Limits: s.opts.Limits})
	if isForgotten(err) { // somebody else has killed it meanwhile
		last := *unread
		last.Status, last.Cause, last.Leftover = shared.StatusKilled, shared.CauseKill, nil
		return &last, what + " had already ended.", nil
	}
	if err != nil {
		return nil, "", err
	}
	last := *final
	last.Stdout, last.Stderr = since(unread.Stdout, final.Stdout), since(unread.Stderr, final.Stderr)
	if !over(final) {
		return &last, what + " was sent SIGKILL, but " + unstoppable + ".", nil
	}
	kept := *final
	for _, o := range []*shared.Output{&kept.Stdout, &kept.Stderr} { // its size and its log
		*o = shared.Output{Truncated: o.TotalBytes > 0, TotalLines: o.TotalLines, TotalBytes: o.TotalBytes, Path: o.Path, PathError: o.PathError}
	}
	t.final.Store(&kept)
	return &last, strings.TrimSpace(what + " terminated. " + endedToo(final)), nil
}

// failed says in words for the model why there is no account of a task.
func (s *tasks) failed(id string, err error) Answer {
	var known *shared.Error
	switch {
	case !errors.As(err, &known):
		return failed("no result", err)
	case known.Code != shared.CodeNotFound || errors.Is(err, shared.ErrCrashed):
		return failed(string(known.Code), err)
	}
	text := fmt.Sprintf("%s: there is no %s %s. %s", known.Code, s.noun, quote(id), s.newest())
	if s.find(id) != nil {
		text = fmt.Sprintf("%s: the %s %s has ended and its output is not kept any more.", known.Code, s.noun, id)
	}
	return Answer{Text: text, IsError: true, Err: err}
}

// isForgotten reports whether err says that the Bash knows no such job, and has not lost
// it by a crash.
func isForgotten(err error) bool {
	return errors.Is(err, shared.ErrNotFound) && !errors.Is(err, shared.ErrCrashed)
}

// since cuts the final output of a stream to the part that no answer has shown.
// unread is the stream's Output from the last Check before the Kill. The part begins with a
// whole line: a line shown unfinished is shown again, as the process may have rewritten it.
// Its Head is that of unread: the beginning of the stream may have been shown.
func since(unread, final shared.Output) shared.Output {
	end := len(final.Content)
	at := int(unread.TotalBytes-final.TotalBytes) - len(unread.Content) + end
	if at > end { // the line has become shorter
		at = end - 1
	}
	at = strings.LastIndexByte(final.Content[:max(0, at)], '\n') + 1
	if at > 0 { // else all of it is new
		final.Content = final.Content[at:]
		final.Truncated, final.TruncatedBy = unread.Truncated, unread.TruncatedBy
		final.LastLinePartial, final.StartsMidLine = false, false
		final.Notable = unread.Notable
	}
	final.Head = unread.Head
	final.OutputBytes = len(final.Head) + len(final.Content)
	final.OutputLines = lineCount(final.Head) + lineCount(final.Content)
	return final
}

// find returns nil for an unknown id.
func (s *tasks) find(id string) *task {
	for _, t := range s.known() {
		if t.id == id {
			return t
		}
	}
	return nil
}

// ofProcess returns the task of a process whose pid a model gives instead of the id, as it
// stands in lists of left-over processes; nil if there is none.
func (s *tasks) ofProcess(ctx context.Context, pid string) *task {
	number, _ := strconv.Atoi(pid)
	if number <= 0 {
		return nil
	}
	r, err := s.bash.Check(ctx, shared.CheckRequest{PID: number, Peek: true, Limits: s.opts.Limits})
	for _, t := range s.known() {
		if err == nil && t.is(*r) {
			return t
		}
	}
	return nil
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
	var ids []string
	for _, t := range s.known() {
		ids = append(ids, t.id)
	}
	if more := len(ids) - most; more > 0 {
		return "The newest are " + strings.Join(ids[more:], ", ") + "."
	}
	return "There are " + cmp.Or(strings.Join(ids, ", "), "none") + "."
}
