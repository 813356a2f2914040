package confine

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// Limits keep one command within its Resources.
type Limits struct {
	// Watched are the limits that somebody must compare with what the command uses.
	Watched shared.Resources

	// Rlimits are the limits of each process.
	Rlimits map[int]uint64

	// Cgroup is the directory of the cgroup in which the command starts; nil: none.
	Cgroup *os.File

	allowed shared.Resources

	mu   sync.Mutex // guards last
	last shared.Usage
}

// NewLimits prepares the limits of a command. The caller must Remove them.
func NewLimits(r shared.Resources, groups *Cgroups) (*Limits, error) {
	l := &Limits{Watched: r, allowed: r, Rlimits: make(map[int]uint64)}
	l.Watched.Disk = 0
	if r == (shared.Resources{}) {
		return l, nil
	}
	if runtime.GOOS != "linux" {
		return nil, &shared.Error{
			Code:    shared.CodeStart,
			Field:   "Resources",
			Message: "commands can be limited on Linux only: leave Resources out",
		}
	}
	l.Cgroup = groups.add(r)
	switch {
	case l.Cgroup != nil:
		l.Watched = shared.Resources{CPU: r.CPU}
	case r.Memory > 0:
		// A process may take much memory before anybody looks. The limit is far higher than
		// Memory, because it counts what a process maps, not what it uses.
		l.Rlimits[unix.RLIMIT_DATA] = 2*uint64(r.Memory) + 4<<30
	}
	if r.Disk > 0 {
		l.Rlimits[unix.RLIMIT_FSIZE] = uint64(r.Disk)
	}
	return l, nil
}

// Broken says which limit made the kernel end the command, and how the command exceeded it;
// "" for none. code is the exit code of bash.
func (l *Limits) Broken(code int) (cause shared.Cause, how string) {
	switch {
	case l.value("memory.events", "oom_kill") > 0:
		return l.allowed.Exceeded(shared.Usage{MaxMemory: l.allowed.Memory + 1})
	case l.allowed.Disk > 0 && code == 128+int(syscall.SIGXFSZ):
		return shared.CauseDisk, fmt.Sprintf("it wrote a file of more than %d bytes", l.allowed.Disk)
	}
	return "", ""
}

// Usage returns what the command has used so far. That is what the cgroup tells, and at least
// what was seen.
func (l *Limits) Usage(seen shared.Usage) shared.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := shared.Usage{
		CPU:          time.Duration(l.value("cpu.stat", "usage_usec")) * time.Microsecond,
		MaxMemory:    l.value("memory.peak", ""),
		MaxProcesses: int(l.value("pids.peak", "")),
	}
	l.last = l.last.Max(seen).Max(told)
	return l.last
}

// Kill kills all processes of the cgroup.
func (l *Limits) Kill() {
	if l.Cgroup != nil {
		_ = set(l.Cgroup.Name(), "cgroup.kill", "1")
	}
}

// Remove removes the cgroup. None of the command's processes may live.
func (l *Limits) Remove() {
	l.Usage(shared.Usage{}) // keeps what the cgroup tells, for later calls
	if l.Cgroup != nil {
		_ = os.Remove(l.Cgroup.Name())
		l.Cgroup.Close()
	}
}
