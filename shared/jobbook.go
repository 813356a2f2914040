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
	mu   sync.Mutex // guards what follows
	live map[int]jobEntry
	lost map[int]jobEntry
}

type jobEntry struct {
	command string
	logs    []string
}

const (
	maxLost  = 1024 // entries of each kind
	maxBrief = 80   // bytes of a command
)

func newJobBook() *jobBook {
	return &jobBook{live: make(map[int]jobEntry), lost: make(map[int]jobEntry)}
}

// note learns from a Result.
func (b *jobBook) note(r *Result) {
	if r == nil || r.PID == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.live[r.PID]; !known && r.Status != StatusRunning && len(r.Leftover) == 0 {
		return // a plain command, no job
	}
	if len(b.live) >= maxLost {
		clear(b.live)
	}
	entry := jobEntry{command: brief(r.Command)}
	for _, out := range []Output{r.Stdout, r.Stderr} {
		if out.Path != "" {
			entry.logs = append(entry.logs, out.Path)
		}
	}
	b.live[r.PID] = entry
	delete(b.lost, r.PID) // the pid is another job's by now
}

// brief returns the beginning of a command, to tell it from others.
func brief(command string) string {
	line := firstLine(command)
	if short := line[:min(len(line), maxBrief)]; len(short) < len(command) {
		return strings.ToValidUTF8(short, "") + " …"
	}
	return command
}

// forget drops a job that was killed, or those that r lists.
func (b *jobBook) forget(pid int, r *Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, pid)
	for _, job := range r.Jobs {
		delete(b.live, job.PID)
	}
}

// lose moves the live jobs to the lost ones.
func (b *jobBook) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lost) > maxLost {
		clear(b.lost)
	}
	for pid, entry := range b.live {
		b.lost[pid] = entry
	}
	clear(b.live)
}

// explain adds to an error for an unknown pid what became of the job.
func (b *jobBook) explain(pid int, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	entry, ok := b.lost[pid]
	if !ok {
		return err
	}
	text := fmt.Sprintf("job %d (%s) is gone: the plugin crashed, and what still ran of it was ended", pid, entry.command)
	if len(entry.logs) > 0 {
		text += "; its output is in " + strings.Join(entry.logs, " and ")
	}
	return &causedError{&Error{CodeNotFound, text}, ErrCrashed}
}
