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
	"syscall"
	"time"

	"bashplugin/shared"
)

// maxTasks is how many jobs a toolset knows by id: as many as this module's plugin
// runs and keeps.
const maxTasks = 512

// task is a job that a model knows by an id.
type task struct {
	id  string
	pid int

	// started tells the job from a later one with the same pid.
	started time.Time

	// final is the last account of a task that this toolset has killed, or whose call was
	// cancelled, as the Bash has forgotten it. It is nil for other tasks.
	final atomic.Pointer[shared.Result]

	// isCancelled says that the task was killed because its call was cancelled.
	isCancelled bool

	// told is the size of stdout as of the last answer. tasks.mu guards it.
	told shared.Output

	// held are the unfinished last lines of stdout and stderr, which no filter has seen yet.
	// tasks.mu guards them.
	held [2]string
}

// keep keeps the last account of a task without the output, which was shown.
func (t *task) keep(final shared.Result) {
	final.Stdout = withoutContent(final.Stdout)
	final.Stderr = withoutContent(final.Stderr)
	t.final.Store(&final)
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
	t := &task{pid: r.PID, started: r.Started}
	return s.add(t)
}

// addCancelled gives an id to a command that was killed because its call was cancelled: a client
// that gives up a call shows its model no answer.
func (s *tasks) addCancelled(r *shared.Result) {
	if r.PID == 0 || r.Cause != shared.CauseCancel || !over(r) {
		return
	}
	t := &task{pid: r.PID, started: r.Started, isCancelled: true}
	t.final.Store(r)
	s.add(t)
}

// add gives a task an id.
func (s *tasks) add(t *task) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == maxTasks {
		s.dropLocked()
	}
	s.made++
	// The letters keep an id of an earlier session, which a model may remember, from working.
	t.id = fmt.Sprintf("%s%d%s", s.prefix, s.made, strings.ToLower(rand.Text()[:3]))
	s.list = append(s.list, t)
	return t.id
}

// dropLocked drops the oldest task that was killed or, if there is none, the oldest task.
func (s *tasks) dropLocked() {
	wasKilled := func(t *task) bool { return t.final.Load() != nil }
	i := max(0, slices.IndexFunc(s.list, wasKilled))
	s.list = slices.Delete(s.list, i, i+1)
}

// peek returns a task and an account of it, which is always the final one if this
// toolset killed the task. Its output does not count as shown. The error is
// shared.ErrNotFound for an id that is not this toolset's, or that the Bash has forgotten.
func (s *tasks) peek(ctx context.Context, id string, req shared.CheckRequest) (*task, *shared.Result, error) {
	t := cmp.Or(s.find(id), s.ofProcess(ctx, id))
	if t == nil {
		return nil, nil, notFound("there is no background process with the id " + quote(id))
	}
	if final := t.final.Load(); final != nil {
		return t, final, nil
	}
	req.PID = t.pid
	req.Limits = cmp.Or(req.Limits, s.opts.Limits)
	req.Peek = true
	r, err := s.bash.Check(ctx, req)
	if err == nil && !t.is(*r) {
		err = notFound("its pid belongs to a later command")
	}
	return t, r, err
}

func notFound(message string) error {
	return &shared.Error{Code: shared.CodeNotFound, Message: message}
}

// check is peek, but the output counts as shown, unless nobody reads the answer: a client
// whose call has ended, except by MaxWait, has given up waiting for it.
func (s *tasks) check(ctx context.Context, id string, req shared.CheckRequest) (*task, *shared.Result, error) {
	t, peeked, err := s.peek(ctx, id, req)
	isRead := ctx.Err() == nil || errors.Is(context.Cause(ctx), shared.ErrDetach)
	if err != nil || !isRead {
		return t, peeked, err
	}
	if t.final.Load() != nil {
		if !req.All {
			t.keep(*peeked)
		}
		return t, peeked, nil
	}
	again := shared.CheckRequest{
		PID:    t.pid,
		All:    req.All,
		Limits: cmp.Or(req.Limits, s.opts.Limits),
	}
	r, err := s.bash.Check(context.WithoutCancel(ctx), again)
	if err == nil && t.is(*r) {
		r.Matched = peeked.Matched
		return t, r, nil
	}
	return t, peeked, nil // the job has gone: this is its last account
}

// await is check after waiting for the end of a task, or for a match in its output. The notes
// say what the model may not expect: that there was no match, or that the call ended too soon.
func (s *tasks) await(ctx context.Context, id string, req shared.CheckRequest) (*shared.Result, []string, error) {
	if req.WaitFor != "" {
		req.Wait = cmp.Or(req.Wait, time.Minute)
	}
	t, r, err := s.check(ctx, id, req)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	if req.WaitFor != "" && !r.Matched && t.final.Load() == nil {
		notes = append(notes, "the output has not matched wait_for")
	}
	most := s.opts.MaxWait
	if most > 0 && req.Wait > most && !r.Matched && !over(r) {
		notes = append(notes, s.opts.callLimit())
	}
	return r, notes, nil
}

// pause is how long output stays away until it is taken for complete, and longestPause how long
// that is waited for.
const (
	pause        = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// settle makes a request, which has input for a task, and returns once the task's output pauses.
func (s *tasks) settle(ctx context.Context, id string, req shared.CheckRequest) error {
	req.Wait = pause
	seen := int64(-1)
	for until := time.Now().Add(longestPause); time.Now().Before(until) && ctx.Err() == nil; {
		_, r, err := s.peek(ctx, id, req)
		if err != nil {
			return err
		}
		written := r.Stdout.TotalBytes + r.Stderr.TotalBytes
		if written == seen || over(r) {
			return nil
		}
		seen = written
		req = shared.CheckRequest{Wait: pause}
	}
	return nil
}

// kill ends a task. It returns the last account, with the output that no answer has shown, and
// says what was done with the task, without a full stop at the end. what is the task's name in
// that sentence. sig is the first signal; 0: SIGTERM.
func (s *tasks) kill(
	ctx context.Context, what, id string, sig syscall.Signal,
) (r *shared.Result, said string, err error) {
	hadEnded := what + " had already ended"
	t, unread, err := s.peek(ctx, id, shared.CheckRequest{})
	if err == nil && over(unread) {
		_, r, err = s.check(ctx, id, shared.CheckRequest{})
		return r, hadEnded, err
	}
	if err != nil {
		return nil, "", err
	}
	final, err := s.bash.Kill(ctx, shared.KillRequest{PID: t.pid, Signal: sig, Limits: s.opts.Limits})
	if isForgotten(err) { // somebody else has killed it meanwhile
		last := *unread
		last.Status = shared.StatusKilled
		last.Cause = shared.CauseKill
		last.Leftover = nil
		return &last, hadEnded, nil
	}
	if err != nil {
		return nil, "", err
	}
	last := *final
	last.Stdout = since(unread.Stdout, final.Stdout)
	last.Stderr = since(unread.Stderr, final.Stderr)
	if !over(final) {
		return &last, what + " was sent SIGKILL, but " + unstoppable, nil
	}
	t.keep(*final)
	return &last, join(". ", what+" terminated", endedToo(final)), nil
}

// withoutContent is what is kept of a stream that was shown: its size and its log.
func withoutContent(o shared.Output) shared.Output {
	return shared.Output{
		Truncated:  o.TotalBytes > 0,
		TotalLines: o.TotalLines,
		TotalBytes: o.TotalBytes,
		Path:       o.Path,
		PathError:  o.PathError,
	}
}

// failed says in words for the model why there is no account of a task.
func (s *tasks) failed(id string, err error) Answer {
	known, ok := errors.AsType[*shared.Error](err)
	if !ok {
		return failed("no result", err)
	}
	if !isForgotten(err) {
		return failed(string(known.Code), err)
	}
	text := fmt.Sprintf("there is no %s %s. %s", s.noun, quote(id), s.newest())
	if s.find(id) != nil {
		text = s.notKept(id)
	}
	return Answer{Text: string(known.Code) + ": " + text, IsError: true, Err: err}
}

// notKept says what became of a task that has an id, but that the Bash has forgotten.
func (s *tasks) notKept(id string) string {
	return fmt.Sprintf("the %s %s has ended and its output is not kept any more.", s.noun, id)
}

// isForgotten reports whether err says that the Bash knows no such job, and has not lost
// it by a crash.
func isForgotten(err error) bool {
	return errors.Is(err, shared.ErrNotFound) && !errors.Is(err, shared.ErrCrashed)
}

// since cuts the final output of a stream down to the part that no answer has shown.
// unread is the stream's Output from the last Check before the Kill. The part begins with a
// whole line: a line that was shown unfinished is shown again, as the process may have
// rewritten it. The Head is that of unread: the beginning of the stream may have been shown.
func since(unread, final shared.Output) shared.Output {
	end := len(final.Content)
	at := int(unread.TotalBytes-final.TotalBytes) - len(unread.Content) + end
	if at > end { // the line has become shorter
		at = end - 1
	}
	at = strings.LastIndexByte(final.Content[:max(0, at)], '\n') + 1
	if at > 0 { // else all of it is new
		final.Content = final.Content[at:]
		final.Truncated = unread.Truncated
		final.TruncatedBy = unread.TruncatedBy
		final.LastLinePartial = false
		final.StartsMidLine = false
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

// ofProcess returns the task of a process, nil if there is none. A model may give the pid of a
// left-over process, which answers list, instead of an id.
func (s *tasks) ofProcess(ctx context.Context, given string) *task {
	number, _ := strconv.Atoi(given)
	if number <= 0 {
		return nil
	}
	r, err := s.bash.Check(ctx, shared.CheckRequest{PID: number, Peek: true, Limits: s.opts.Limits})
	if err != nil {
		return nil
	}
	for _, t := range s.known() {
		if t.is(*r) {
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

// tell notes that an answer has shown a stream to its end, and returns what was noted before.
func (s *tasks) tell(t *task, stream shared.Output) (before shared.Output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = t.told
	t.told = withoutContent(stream)
	return before
}

// hold replaces the unfinished line of a task's stream that is held back, and returns the one
// before.
func (s *tasks) hold(t *task, stream int, line string) (before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = t.held[stream]
	t.held[stream] = line
	return before
}

// newest lists the newest ids, for a model that has lost one.
func (s *tasks) newest() string {
	const most = 10
	var ids []string
	for _, t := range s.known() {
		ids = append(ids, t.id)
	}
	if len(ids) > most {
		return "The newest are " + strings.Join(ids[len(ids)-most:], ", ") + "."
	}
	return "There are " + cmp.Or(strings.Join(ids, ", "), "none") + "."
}
