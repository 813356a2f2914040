package tool

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"bashplugin/shared"
)

// maxIDs is how many jobs a toolset knows by id: all that a Bash of this
// module runs and keeps.
const maxIDs = 512

// task is a job that a model knows by an id.
type task struct {
	id      string
	pid     int
	started time.Time      // tells the job from a later one with the same pid
	over    bool           // nothing of it runs any more
	final   *shared.Result // where it was killed here, and the Bash has forgotten it
}

// tasks are the jobs of one toolset. Another toolset over the same Bash knows
// none of them. It is safe for concurrent use.
type tasks struct {
	bash  shared.Bash
	newID func() string

	mu   sync.Mutex // guards what follows
	list []task     // in the order in which they became jobs, at most maxIDs
}

// addJob gives an id to what a command in a mode has become, unless that is no
// job.
func (s *tasks) addJob(r *shared.Result, mode shared.Mode) string {
	if r.PID == 0 || over(r) && mode != shared.ModeBackground {
		return ""
	}
	return s.add(r)
}

// add gives an id to the job that r is an account of.
func (s *tasks) add(r *shared.Result) string {
	id := s.newID()
	if s.isFull() {
		s.look()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A pid comes again only when the Bash has forgotten the job that had it.
	s.list = slices.DeleteFunc(s.list, func(t task) bool { return t.pid == r.PID && t.final == nil })
	if len(s.list) == maxIDs {
		oldest := max(0, slices.IndexFunc(s.list, func(t task) bool { return t.over }))
		s.list = slices.Delete(s.list, oldest, oldest+1)
	}
	s.list = append(s.list, task{id: id, pid: r.PID, started: r.Started, over: over(r)})
	return id
}

// isFull reports whether the next id takes the place of one that may run.
func (s *tasks) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list) >= maxIDs && !slices.ContainsFunc(s.list, func(t task) bool { return t.over })
}

// lookTime bounds a look.
const lookTime = 5 * time.Second

// look takes note of the tasks of which nothing runs any more.
func (s *tasks) look() {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	all, err := s.bash.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		t := &s.list[i]
		t.over = t.over || !slices.ContainsFunc(all.Jobs, func(r shared.Result) bool {
			return r.PID == t.pid && r.Started.Equal(t.started) && !over(&r)
		})
	}
}

// check returns an account of a task. Of one that was killed here it is always
// the final one. An id that is not this toolset's, or that the Bash has
// forgotten, is shared.ErrNotFound.
func (s *tasks) check(ctx context.Context, id string, req shared.CheckRequest) (*shared.Result, error) {
	t := s.find(id)
	if t.id == "" {
		return nil, notFound("there is no background process with the id " + quote(id))
	}
	if t.final != nil {
		return t.final, nil
	}
	req.PID = t.pid
	r, err := s.bash.Check(ctx, req)
	if err != nil {
		return nil, err
	}
	if !r.Started.Equal(t.started) {
		return nil, notFound("its pid belongs to a later command")
	}
	if over(r) {
		s.update(id, func(t *task) { t.over = true })
	}
	return r, nil
}

// kill ends a task.
func (s *tasks) kill(ctx context.Context, id string, limits shared.Limits) (*shared.Result, error) {
	return s.bash.Kill(ctx, shared.KillRequest{PID: s.find(id).pid, Limits: limits})
}

// remember keeps the final account of a task that was killed.
func (s *tasks) remember(id string, final *shared.Result) {
	s.update(id, func(t *task) { t.over, t.final = true, final })
}

// find returns the zero task for an unknown id.
func (s *tasks) find(id string) (found task) {
	s.update(id, func(t *task) { found = *t })
	return found
}

// update does something with a task, if there is one with the id.
func (s *tasks) update(id string, do func(*task)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.list, func(t task) bool { return t.id == id }); i >= 0 {
		do(&s.list[i])
	}
}

// known tells a model that has lost an id which ones there are.
func (s *tasks) known() string {
	const most = 10
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return "There are none."
	}
	var names []string
	for _, t := range s.list[max(0, len(s.list)-most):] {
		names = append(names, t.id)
	}
	if len(s.list) > most {
		return "The newest are " + strings.Join(names, ", ") + "."
	}
	return "There are " + strings.Join(names, ", ") + "."
}

func notFound(message string) error {
	return &shared.Error{Code: shared.CodeNotFound, Message: message}
}
