package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// jobBook remembers the last jobs of a Client's plugins for when one crashes: their
// commands, and where their output is. It is safe for concurrent use.
type jobBook struct {
	mu   sync.Mutex // guards what follows
	jobs map[int]jobEntry
	pids []int // of jobs, oldest first
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

// note learns of a job from a Result of a plugin.
func (b *jobBook) note(plugin int, r *Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry, known := b.jobs[r.PID]
	known = known && entry.plugin == plugin
	isJob := r.PID != 0 && (r.Status == StatusRunning || len(r.Leftover) > 0)
	switch {
	case known:
	case !isJob:
		return
	default:
		b.forgetLocked(r.PID) // of an earlier plugin
		entry = jobEntry{plugin: plugin, command: brief(r.Command)}
		b.pids = append(b.pids, r.PID)
	}
	entry.logs = logs(r)
	if b.jobs[r.PID] = entry; len(b.pids) > maxJobs {
		b.forgetLocked(b.pids[0])
	}
}

func logs(r *Result) []string {
	return slices.DeleteFunc([]string{r.Stdout.Path, r.Stderr.Path}, func(path string) bool { return path == "" })
}

// brief returns the beginning of a command, to tell it from others.
func brief(command string) string {
	line, _, _ := strings.Cut(command, "\n")
	if short := line[:min(len(line), maxBrief)]; len(short) < len(command) {
		return strings.ToValidUTF8(short, "") + " …"
	}
	return command
}

// forget drops a job that a plugin has killed, or those that r lists.
func (b *jobBook) forget(pid int, r *Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetLocked(pid)
	for _, job := range r.Jobs {
		b.forgetLocked(job.PID)
	}
}

func (b *jobBook) forgetLocked(pid int) {
	if _, ok := b.jobs[pid]; ok {
		delete(b.jobs, pid)
		b.pids = slices.DeleteFunc(b.pids, func(p int) bool { return p == pid })
	}
}

// explain adds to a plugin's error for an unknown pid what became of the job, where
// that was an earlier plugin's.
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
	if logs := slices.DeleteFunc(slices.Clone(entry.logs), isMissing); len(logs) > 0 {
		text += "; its output is in " + strings.Join(logs, " and ")
	}
	return &causedError{&Error{Code: CodeNotFound, Message: text}, ErrCrashed}
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
