package process

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// exec starts the program. Its Rlimits cannot be set on this process for the fork: they
// would hold for all threads. So the program stops as it begins, traced by this thread.
func (spec Spec) exec(attr *syscall.ProcAttr) (pid int, err error) {
	attr.Sys.Ptrace = len(spec.Rlimits) > 0
	if spec.Cgroup != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(spec.Cgroup.Fd())
	}
	pid, err = syscall.ForkExec(spec.Path, spec.Args, attr)
	if err != nil || !attr.Sys.Ptrace {
		if attr.Sys.Ptrace && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS)) {
			err = fmt.Errorf("limits of memory and files need ptrace, which this system refuses: %w", err)
		}
		return pid, err
	}
	var status unix.WaitStatus
	if _, err = unix.Wait4(pid, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return pid, errors.New("it was killed as it started")
	}
	for resource, most := range spec.Rlimits {
		var l unix.Rlimit
		err = errors.Join(err, unix.Prlimit(pid, resource, nil, &l))
		l.Cur, l.Max = min(l.Cur, most), min(l.Max, most)
		err = errors.Join(err, unix.Prlimit(pid, resource, &l, nil))
	}
	if err = errors.Join(err, unix.PtraceDetach(pid)); err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
	}
	return pid, err
}
