package tool

import (
	"context"
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
	bash  shared.Bash
	newID func() string

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
	id := s.newID()
	s.list = append(s.list, &task{id: id, pid: r.PID, started: r.Started})
	return id
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
	req.PID = t.pid
	r, err := s.bash.Check(ctx, req)
	if err == nil && !t.is(*r) {
		err = &shared.Error{Code: shared.CodeNotFound, Message: "its pid belongs to a later command"}
	}
	return t, r, err
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

// newest lists the newest ids, for a model that has lost one.
func (s *tasks) newest() string {
	const most = 10
	s.mu.Lock()
	defer s.mu.Unlock()
	list, words := s.list, "There are "
	switch {
	case len(list) == 0:
		return "There are none."
	case len(list) > most:
		list, words = list[len(list)-most:], "The newest are "
	}
	var ids []string
	for _, t := range list {
		ids = append(ids, t.id)
	}
	return words + strings.Join(ids, ", ") + "."
}
