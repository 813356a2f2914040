package shared

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// jobBook remembers the jobs of a Client's plugins for when one crashes: what
// became of them and where their output is. It is safe for concurrent use.
type jobBook struct {
	mu   sync.Mutex // guards jobs
	jobs map[int]jobEntry
}

type jobEntry struct {
	plugin  int // its pid
	command string
	logs    []string
}

const (
	maxJobs  = 2048 // entries
	maxBrief = 80   // bytes of a command
)

func newJobBook() *jobBook { return &jobBook{jobs: make(map[int]jobEntry)} }

// note learns from a Result of a plugin.
func (b *jobBook) note(plugin int, r *Result) {
	if r == nil || r.PID == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs[r.PID].plugin != plugin && r.Status != StatusRunning && len(r.Leftover) == 0 {
		return // a plain command, no job
	}
	if len(b.jobs) >= maxJobs {
		clear(b.jobs)
	}
	entry := jobEntry{plugin: plugin, command: brief(r.Command)}
	for _, out := range []Output{r.Stdout, r.Stderr} {
		if out.Path != "" {
			entry.logs = append(entry.logs, out.Path)
		}
	}
	b.jobs[r.PID] = entry
}

// brief returns the beginning of a command, to tell it from others.
func brief(command string) string {
	line := firstLine(command)
	if short := line[:min(len(line), maxBrief)]; len(short) < len(command) {
		return strings.ToValidUTF8(short, "") + " …"
	}
	return command
}

// forget drops a job that a plugin has killed, or those that r lists.
func (b *jobBook) forget(pid int, r *Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.jobs, pid)
	for _, job := range r.Jobs {
		delete(b.jobs, job.PID)
	}
}

// explain adds to a plugin's error for an unknown pid what became of the job,
// where that was an earlier plugin's.
func (b *jobBook) explain(plugin, pid int, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	entry, ok := b.jobs[pid]
	if !ok || entry.plugin == plugin {
		return err
	}
	text := fmt.Sprintf("job %d (%s) is gone: the plugin crashed, and what still ran of it was ended", pid, entry.command)
	if len(entry.logs) > 0 {
		text += "; its output is in " + strings.Join(entry.logs, " and ")
	}
	return &causedError{&Error{CodeNotFound, text}, ErrCrashed}
}
