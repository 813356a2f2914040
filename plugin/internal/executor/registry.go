package executor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bashplugin/plugin/internal/job"
	"bashplugin/shared"
)

// registry holds the commands that run and the jobs that Check and Kill can name. It is safe for
// concurrent use.
type registry struct {
	calls    sync.WaitGroup // Executes under way
	starting sync.WaitGroup // Executes that have a reservation

	mu       sync.Mutex // guards the fields below
	closed   bool
	started  int // commands so far
	reserved int // commands that are about to start
	live     map[*job.Job]bool
	jobs     map[int]*job.Job // by pid

	// finished are the jobs that have ended, in the order in which they ended.
	finished []*job.Job
}

// reserve begins an Execute, which must call calls.Done at its end. It reserves room
// for a command and returns the command's number.
func (r *registry) reserve() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, errClosed()
	}
	if len(r.live)+r.reserved >= MaxRunning {
		return 0, fail(shared.CodeStart,
			"%d commands are running, which is the most allowed: wait for one to end, or kill a job", MaxRunning)
	}
	r.calls.Add(1)
	r.starting.Add(1)
	r.reserved++
	r.started++
	return r.started, nil
}

// fill replaces a reservation by the command that has started; nil: none has.
func (r *registry) fill(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j != nil {
		r.live[j] = true
	}
	r.reserved--
	r.starting.Done()
}

// add makes a command a job. It forgets a finished job that had the same pid.
func (r *registry) add(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.jobs[j.PID]; old != nil {
		r.forgetLocked(old)
	}
	r.jobs[j.PID] = j
	if !r.live[j] {
		r.retireLocked(j)
	}
}

// ended records that no process of a command lives any more.
func (r *registry) ended(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, j)
	if r.jobs[j.PID] == j {
		r.retireLocked(j)
	}
}

// retireLocked keeps a finished job, and forgets the oldest one past the bound.
func (r *registry) retireLocked(j *job.Job) {
	r.finished = append(r.finished, j)
	if len(r.finished) > MaxFinished {
		r.forgetLocked(r.finished[0])
	}
}

func (r *registry) forget(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(j)
}

func (r *registry) forgetLocked(j *job.Job) {
	if r.jobs[j.PID] == j {
		delete(r.jobs, j.PID)
	}
	r.finished = slices.DeleteFunc(r.finished, func(f *job.Job) bool { return f == j })
}

// find returns the job with a pid or, if there is none, the job that a process with
// that pid belongs to.
func (r *registry) find(pid int) (*job.Job, error) {
	jobs, err := r.all()
	if err != nil {
		return nil, err
	}
	for _, has := range []func(*job.Job) bool{
		func(j *job.Job) bool { return j.PID == pid },
		func(j *job.Job) bool { return j.Running() && j.Has(pid) },
	} {
		if i := slices.IndexFunc(jobs, has); i >= 0 {
			return jobs[i], nil
		}
	}
	return nil, fail(shared.CodeNotFound, "no job has a process with the pid %d: %s", pid, names(jobs))
}

// names tells a caller which jobs there are, at most the latest ten.
func names(jobs []*job.Job) string {
	const most = 10
	if len(jobs) == 0 {
		return "there are no jobs"
	}
	var pids []string
	for _, j := range jobs[max(0, len(jobs)-most):] {
		pids = append(pids, strconv.Itoa(j.PID))
	}
	text := "the jobs are "
	if len(jobs) > most {
		text = fmt.Sprintf("the latest of the %d jobs are ", len(jobs))
	}
	return text + strings.Join(pids, ", ")
}

// all returns every job in the order of their starts.
func (r *registry) all() ([]*job.Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed()
	}
	var jobs []*job.Job
	for _, j := range r.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job.Job) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	return jobs, nil
}

// shut refuses all calls from now on and returns the commands that still run.
func (r *registry) shut() []*job.Job {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.starting.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var running []*job.Job
	for j := range r.live {
		running = append(running, j)
	}
	return running
}
