package process

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var errUntraceable = errors.New("limits of memory and files need ptrace, which this system refuses")

// exec starts the program. It cannot set Rlimits on this process before the fork, because
// they would hold for all threads. So the program stops as it begins, traced by this thread.
func (spec Spec) exec(attr *syscall.ProcAttr) (pid int, err error) {
	if len(spec.Rlimits) == 0 {
		return spec.forkExec(attr)
	}
	return spec.execTraced(attr, 0)
}

// execRestricted is exec on a thread of its own, which ends with it. While that thread lives,
// the program could signal it, and with it this process, and could write to its memory: both
// are restricted in the same way. So the program stays stopped before its first instruction
// until the thread has ended. If the system refuses ptrace, the program runs at once.
func (spec Spec) execRestricted(attr *syscall.ProcAttr) (pid int, err error) {
	var forker threadFile
	var panicked any
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlock it, so that the thread ends with this goroutine
		defer close(done)
		defer func() { panicked = recover() }()
		forker, err = openThread()
		if unix.Gettid() == unix.Getpid() {
			err = errors.New("the main thread is not locked, and would never end")
		}
		if err == nil {
			pid, err = spec.restrictAndExec(attr)
		}
	}()
	<-done
	defer forker.close()
	if panicked != nil {
		panic(panicked) // on the caller's goroutine
	}
	if err != nil {
		return pid, err
	}
	forker.awaitEnd()
	_ = unix.Kill(pid, unix.SIGCONT) // a child that was killed meanwhile is reaped as any other
	return pid, nil
}

// restrictAndExec restricts this thread and starts the program, which stays stopped if the
// system allows ptrace.
func (spec Spec) restrictAndExec(attr *syscall.ProcAttr) (pid int, err error) {
	err = spec.Restrict()
	if err != nil {
		return 0, err
	}
	pid, err = spec.execTraced(attr, unix.SIGSTOP)
	if errors.Is(err, errUntraceable) && len(spec.Rlimits) == 0 {
		return spec.forkExec(attr)
	}
	return pid, err
}

// execTraced starts the program, lowers its limits before its first instruction, and then
// detaches from it with a signal: 0 lets the program run, SIGSTOP keeps it stopped.
func (spec Spec) execTraced(attr *syscall.ProcAttr, with syscall.Signal) (pid int, err error) {
	runtime.LockOSThread() // only the thread that has forked a process may detach from it
	defer runtime.UnlockOSThread()
	attr.Sys.Ptrace = true
	defer func() { attr.Sys.Ptrace = false }()
	pid, err = spec.forkExec(attr)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		return pid, fmt.Errorf("%w: %w", errUntraceable, err)
	}
	if err != nil {
		return pid, err
	}
	if !awaitStop(pid) {
		return pid, nil // it was killed: that is its outcome
	}
	err = errors.Join(limitElsewhere(pid, spec.Rlimits), detach(pid, with))
	if errors.Is(err, unix.ESRCH) {
		return pid, nil
	}
	if err != nil {
		_ = unix.Tgkill(pid, pid, unix.SIGKILL) // if this thread is restricted, kill(2) might wait for this process
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
	}
	return pid, err
}

// awaitStop waits until a child that is traced stops. It returns false if the child has ended,
// and leaves it to be reaped.
func awaitStop(pid int) bool {
	for {
		var child unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &child, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && child.Code > cldDumped
		}
	}
}

// detach ends the tracing of a process and gives it a signal, none if sig is 0.
func detach(pid int, sig syscall.Signal) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(sig), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (spec Spec) forkExec(attr *syscall.ProcAttr) (pid int, err error) {
	if spec.Cgroup != nil {
		attr.Sys.UseCgroupFD = true
		attr.Sys.CgroupFD = int(spec.Cgroup.Fd())
	}
	return syscall.ForkExec(spec.Path, spec.Args, attr)
}

// limitElsewhere is limit on another thread than this one, which may be forbidden to limit
// other processes.
func limitElsewhere(pid int, most map[int]uint64) error {
	if len(most) == 0 {
		return nil
	}
	limited := make(chan error)
	go func() { limited <- limit(pid, most) }()
	return <-limited
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

// threadFile is a file of one thread of this process. Reading it fails once the thread has ended.
type threadFile int

// openThread returns the file of the calling thread.
func openThread() (threadFile, error) {
	fd, err := unix.Open("/proc/thread-self/comm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return threadFile(fd), err
}

// awaitEnd returns when the thread has ended, so that nothing can reach it any more. It asks
// again and again: before Linux 6.9 the kernel reports the end of no thread, and the wait
// takes some microseconds only.
func (f threadFile) awaitEnd() {
	one := make([]byte, 1)
	for {
		_, err := unix.Pread(int(f), one, 0)
		if errors.Is(err, unix.ESRCH) {
			return
		}
		time.Sleep(10 * time.Microsecond)
	}
}

func (f threadFile) close() { _ = unix.Close(int(f)) }
