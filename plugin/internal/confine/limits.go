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
	Watched shared.Resources // those that somebody must compare with what the command uses
	Rlimits map[int]uint64   // of each process
	Cgroup  *os.File         // its directory, where the command starts; nil: none

	allowed shared.Resources
	mu      sync.Mutex // guards last
	last    shared.Usage
}

// NewLimits prepares the limits of a command. The caller must Remove them.
func NewLimits(r shared.Resources, groups *Cgroups) (*Limits, error) {
	l := &Limits{Watched: r, allowed: r, Rlimits: make(map[int]uint64)}
	switch l.Watched.Disk = 0; {
	case r == (shared.Resources{}):
		return l, nil
	case runtime.GOOS != "linux":
		return nil, &shared.Error{Code: shared.CodeStart, Field: "Resources", Message: "commands can be limited on Linux only: leave Resources out"}
	}
	if l.Cgroup = groups.add(r); l.Cgroup != nil {
		l.Watched = shared.Resources{CPU: r.CPU}
	} else if r.Memory > 0 { // for a process that takes much before anybody looks: this counts what it maps, not what it uses
		l.Rlimits[unix.RLIMIT_DATA] = 2*uint64(r.Memory) + 4<<30
	}
	if r.Disk > 0 {
		l.Rlimits[unix.RLIMIT_FSIZE] = uint64(r.Disk)
	}
	return l, nil
}

// Broken says which limit the kernel has ended the command for, and how; "" for none. code
// is the exit code of bash.
func (l *Limits) Broken(code int) (cause shared.Cause, how string) {
	switch {
	case l.value("memory.events", "oom_kill") > 0:
		return l.allowed.Exceeded(shared.Usage{MaxMemory: l.allowed.Memory + 1})
	case l.allowed.Disk > 0 && code == 128+int(syscall.SIGXFSZ):
		return shared.CauseDisk, fmt.Sprintf("it wrote a file of more than %d bytes", l.allowed.Disk)
	}
	return "", ""
}

// Usage returns what the command has used so far, at least what was seen.
func (l *Limits) Usage(seen shared.Usage) shared.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	cpu := time.Duration(l.value("cpu.stat", "usage_usec")) * time.Microsecond
	l.last = l.last.Max(seen).Max(shared.Usage{MaxMemory: l.value("memory.peak", ""), CPU: cpu, MaxProcesses: int(l.value("pids.peak", ""))})
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
	l.Usage(shared.Usage{})
	if l.Cgroup != nil {
		_ = os.Remove(l.Cgroup.Name())
		l.Cgroup.Close()
	}
}
