package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bashplugin/shared"
)

// jobBook remembers the latest jobs of a Client's plugins, to explain calls about a
// job whose plugin has crashed. It is safe for concurrent use.
type jobBook struct {
	mu   sync.Mutex
	jobs []bookedJob // oldest first; at most maxBookedJobs
}

type bookedJob struct {
	plugin, pid int
	logs        []string
}

const maxBookedJobs = 1024

// note records a Result's job. plugin is the pid of the plugin that runs it.
func (b *jobBook) note(plugin int, r *shared.Result) {
	if r.PID == 0 || r.Status != shared.StatusRunning && len(r.Leftover) == 0 {
		return // not a job, or already recorded
	}
	logs := slices.DeleteFunc([]string{r.Stdout.Path, r.Stderr.Path}, func(path string) bool { return path == "" })
	b.forget(r.PID)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, bookedJob{plugin, r.PID, logs})
	if len(b.jobs) > maxBookedJobs {
		b.jobs = slices.Delete(b.jobs, 0, 1)
	}
}

func (b *jobBook) forget(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = slices.DeleteFunc(b.jobs, func(job bookedJob) bool { return job.pid == pid })
}

// explain turns a plugin's error for an unknown pid into one that says what became
// of the job, if an earlier plugin ran it.
func (b *jobBook) explain(plugin, pid int, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.jobs, func(job bookedJob) bool { return job.pid == pid })
	if i < 0 || b.jobs[i].plugin == plugin || !errors.Is(err, shared.ErrNotFound) {
		return err
	}
	text := fmt.Sprintf("job %d is gone: the plugin crashed, and what still ran of the job was ended", pid)
	if logs := b.jobs[i].logs; len(logs) > 0 {
		text += "; its output is in " + strings.Join(logs, " and ")
	}
	gone := &shared.Error{Code: shared.CodeNotFound, Message: text}
	return gone.WithCause(shared.ErrCrashed)
}
