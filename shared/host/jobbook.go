package host

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"bashplugin/shared"
)

// jobBook remembers the latest jobs of a Client's plugins, so that a call about a job of an earlier one does
// not reach a job that has the same pid now. It is safe for concurrent use.
type jobBook struct {
	mu   sync.Mutex  // guards jobs
	jobs []bookedJob // oldest first; at most maxBookedJobs
}

type bookedJob struct {
	plugin int
	pid    int
	pids   []int // of the processes that it left running
	logs   []string
}

const maxBookedJobs = 1024

// note records a Result's job. plugin identifies the plugin that runs it.
func (b *jobBook) note(plugin int, r *shared.Result) {
	if r.PID == 0 || r.Status != shared.StatusRunning && len(r.Leftover) == 0 {
		return // not a job, or already recorded
	}
	job := bookedJob{plugin: plugin, pid: r.PID}
	for _, path := range []string{r.Stdout.Path, r.Stderr.Path} {
		if path != "" {
			job.logs = append(job.logs, path)
		}
	}
	for _, process := range r.Leftover {
		job.pids = append(job.pids, process.PID)
	}
	b.forget(r.PID)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, job)
	if len(b.jobs) > maxBookedJobs {
		b.jobs = slices.Delete(b.jobs, 0, 1)
	}
}

func (b *jobBook) forget(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = slices.DeleteFunc(b.jobs, func(job bookedJob) bool { return job.pid == pid })
}

// check returns an error if the latest job that this Client knows by a pid was an earlier plugin's.
func (b *jobBook) check(plugin, pid int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, job := range slices.Backward(b.jobs) {
		if job.pid != pid && !slices.Contains(job.pids, pid) {
			continue
		}
		if job.plugin == plugin {
			return nil
		}
		return job.gone(pid)
	}
	return nil
}

// gone says what became of a job whose plugin has ended.
func (job bookedJob) gone(pid int) error {
	text := fmt.Sprintf("job %d is gone: the plugin crashed, and what still ran of the job was ended", pid)
	if len(job.logs) > 0 {
		text += "; its output is in " + strings.Join(job.logs, " and ")
	}
	e := &shared.Error{Code: shared.CodeNotFound, Message: text}
	return e.WithCause(shared.ErrCrashed)
}
