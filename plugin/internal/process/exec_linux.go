package process

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// exec starts the program. Its Rlimits cannot be set on this process for the fork: they
// would hold for all threads. So the program stops as it begins, traced by this thread.
func (spec Spec) exec(attr *syscall.ProcAttr) (pid int, err error) {
	if spec.Cgroup != nil {
		attr.Sys.UseCgroupFD = true
		attr.Sys.CgroupFD = int(spec.Cgroup.Fd())
	}
	if len(spec.Rlimits) == 0 {
		return syscall.ForkExec(spec.Path, spec.Args, attr)
	}
	runtime.LockOSThread() // only the thread that has forked a process may detach from it
	defer runtime.UnlockOSThread()
	attr.Sys.Ptrace = true
	pid, err = syscall.ForkExec(spec.Path, spec.Args, attr)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		return pid, fmt.Errorf("limits of memory and files need ptrace, which this system refuses: %w", err)
	}
	if err != nil {
		return pid, err
	}
	var status unix.WaitStatus
	_, err = unix.Wait4(pid, &status, unix.WALL, nil)
	if err != nil || !status.Stopped() {
		return pid, errors.New("it was killed as it started")
	}
	limited := make(chan error)
	go func() { limited <- limit(pid, spec.Rlimits) }() // on another thread: this one may be forbidden to
	err = errors.Join(<-limited, unix.PtraceDetach(pid))
	if err != nil {
		_ = unix.Tgkill(pid, pid, unix.SIGKILL) // of a thread that is restricted, kill(2) might wait for this process
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
	}
	return pid, err
}

// limit lowers limits of a process.
func limit(pid int, most map[int]uint64) error {
	var all error
	for resource, value := range most {
		var l unix.Rlimit
		err := unix.Prlimit(pid, resource, nil, &l)
		l.Cur = min(l.Cur, value)
		l.Max = min(l.Max, value)
		all = errors.Join(all, err, unix.Prlimit(pid, resource, &l, nil))
	}
	return all
}
