package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// jobBook remembers the jobs of a Client's plugins for when one crashes: what
// became of them and where their output is. It is safe for concurrent use.
type jobBook struct {
	mu   sync.Mutex // guards what follows
	jobs map[int]jobEntry
	last int // number of the last note
}

type jobEntry struct {
	plugin  int // its pid
	command string
	logs    []string
	over    bool // the last Result said that nothing of it lives
	noted   int  // number of the note that it is from
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
	over := r.Status != StatusRunning && len(r.Leftover) == 0
	if b.jobs[r.PID].plugin != plugin && over {
		return // a plain command, no job
	}
	b.last++
	entry := jobEntry{plugin: plugin, command: brief(r.Command), over: over, noted: b.last}
	for _, out := range []Output{r.Stdout, r.Stderr} {
		if out.Path != "" {
			entry.logs = append(entry.logs, out.Path)
		}
	}
	if b.jobs[r.PID] = entry; len(b.jobs) > maxJobs {
		b.evict()
	}
}

// evict drops half of the entries: those that are over before the others, and
// old ones before new ones.
func (b *jobBook) evict() {
	pids := slices.SortedFunc(maps.Keys(b.jobs), func(p, q int) int {
		a, b := b.jobs[p], b.jobs[q]
		if a.over != b.over {
			if a.over {
				return -1
			}
			return 1
		}
		return a.noted - b.noted
	})
	for _, pid := range pids[:len(pids)/2] {
		delete(b.jobs, pid)
	}
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
	if logs := slices.DeleteFunc(slices.Clone(entry.logs), isGone); len(logs) > 0 {
		text += "; its output is in " + strings.Join(logs, " and ")
	}
	return &causedError{&Error{CodeNotFound, text}, ErrCrashed}
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
