package shared

import (
	"cmp"
	"fmt"
	"time"

	"github.com/docker/go-units"
)

// Resources limits what a command and everything that it starts may use together. Past
// Memory, CPU or Processes the whole tree is killed, by SIGKILL; the Result has the Cause of
// the limit, and Exceeded. 0 is no limit, negative is invalid. A request's limits can only
// be lower than its session's; 0 there is the same as the session's.
//
// Where Linux lets this user make cgroups (version 2) with the controllers memory and
// pids, each limited command has one: the kernel keeps Memory, and past Processes a fork
// fails. Elsewhere the plugin looks at the tree every 100 ms, at many processes once a second:
// a command may be past its limits for that long. Memory is then that of processes (Pss),
// without files in /dev/shm, memory that no process has, and what is swapped out; as a
// backstop no process may map more than twice Memory and 4 GiB of its own, which keeps
// AddressSanitizer from starting. If many processes start at once, a command with Processes
// may be stopped until they are counted.
//
// In JSON, Memory and Disk may be text such as "512MiB" or "1.5GiB", which is rounded down to
// a byte, and CPU such as "10s". Such text is never 0. A field that is left out keeps its
// value, an unknown one is an error.
//
// A command with limits cannot gain rights, by sudo and the like. Where there are seccomp
// filters (x86-64 and arm64), it cannot take off the mark by which its processes are known
// once their parents have ended.
//
// The plugin watches CPU itself, with cgroups too. Children whose parents ignore SIGCHLD are not
// counted.
//
// As root, a command can undo Disk. Where the plugin may trace no process, it cannot limit Disk,
// nor Memory without cgroups; on macOS it can limit nothing. Execute then fails with ErrStart.
type Resources struct {
	Memory int64 // bytes
	CPU    time.Duration

	// Processes is how many there may be at a time, zombies too. With a cgroup each thread counts
	// as one.
	Processes int

	// Disk is the bytes of one file: a write past it fails, by SIGXFSZ.
	Disk int64
}

// Validate reports a negative limit.
func (r Resources) Validate() error {
	_, err := r.Within(Resources{})
	return err
}

// Within returns the limits of a request with r in a session.
func (r Resources) Within(session Resources) (Resources, error) {
	err := cmp.Or(
		lower("Memory", &r.Memory, session.Memory, size),
		lower("CPU", &r.CPU, session.CPU, time.Duration.String),
		lower("Processes", &r.Processes, session.Processes, func(n int) string { return fmt.Sprint(n) }),
		lower("Disk", &r.Disk, session.Disk, size))
	return r, err
}

func lower[T int | int64 | time.Duration](name string, limit *T, session T, text func(T) string) error {
	if *limit < 0 || session > 0 && *limit > session {
		most := "a positive value"
		if session > 0 {
			most = "at most " + text(session) + ", as the session allows"
		}
		return invalid("Resources."+name,
			"Resources.%s is %s: use 0 for the session's, or %s", name, text(*limit), most)
	}
	*limit = cmp.Or(*limit, session)
	return nil
}

// Exceeded returns the Cause of the first limit that u exceeds, and how; "" if none.
func (r Resources) Exceeded(u Usage) (cause Cause, how string) {
	switch {
	case r.Memory > 0 && u.MaxMemory > r.Memory:
		return CauseMemory, fmt.Sprintf("it used %s of memory, %s allowed", size(u.MaxMemory), size(r.Memory))
	case r.CPU > 0 && u.CPU > r.CPU:
		return CauseCPU, fmt.Sprintf("it used %v of processor time, %v allowed", u.CPU.Round(time.Millisecond), r.CPU)
	case r.Processes > 0 && u.MaxProcesses > r.Processes:
		return CauseProcesses, fmt.Sprintf("it had %d processes at a time, %d allowed", u.MaxProcesses, r.Processes)
	}
	return "", ""
}

// Usage is what a command and everything that it started have used so far. In the
// JSON of a Result, CPU is cpu_ms.
//
// With a cgroup all of it is exact; memory includes cached files then. Otherwise CPU is exact once
// the command has ended, for all processes that some process has waited for. The peaks of a command
// with limits are the highest that were seen. Without limits, CPU and MaxMemory are of the
// processes that have ended, MaxMemory of the largest one.
type Usage struct {
	// MaxMemory is in bytes, at the peak; 0: unknown, or no more than the plugin has, about 20 MiB.
	MaxMemory int64 `json:"max_memory,omitempty"`

	CPU          time.Duration `json:"-"` // user and system
	MaxProcesses int           `json:"max_processes,omitempty"`
}

// Max returns the greater value of each field.
func (u Usage) Max(v Usage) Usage {
	return Usage{max(u.MaxMemory, v.MaxMemory), max(u.CPU, v.CPU), max(u.MaxProcesses, v.MaxProcesses)}
}

// String describes what is known, as in "1.2s of processor time, 40 MiB, processes: 3".
func (u Usage) String() string {
	text := u.CPU.Round(time.Millisecond).String() + " of processor time"
	if u.MaxMemory > 0 {
		text += ", " + size(u.MaxMemory)
	}
	if u.MaxProcesses > 0 {
		text += fmt.Sprintf(", processes: %d", u.MaxProcesses)
	}
	return text
}

// size is a number of bytes for people, as in "1.5 GiB".
func size(bytes int64) string {
	return units.CustomSize("%.3g %s", float64(bytes), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}
