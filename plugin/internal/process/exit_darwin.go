package process

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// forkExec starts a program as the leader of a new session.
func forkExec(path string, args []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	pid, err = syscall.ForkExec(path, args, attr)
	return pid, -1, err
}

// awaitChild waits for a child's end and leaves it to be reaped: until then
// its pid is nobody else's.
func awaitChild(pid, _ int) {
	if p, err := stat(pid); err == nil {
		awaitExit(p)
	}
}

// awaitExit waits for the end of any process, not only of a child. The kernel
// tells of an end a little before the process is dead.
func awaitExit(p info) {
	queue, _ := unix.Kqueue()
	defer unix.Close(queue)
	end := []unix.Kevent_t{{Ident: uint64(p.pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD, Fflags: unix.NOTE_EXIT}}
	for still(p) {
		if _, err := unix.Kevent(queue, end, end, &unix.Timespec{Sec: 1}); err != nil {
			time.Sleep(time.Millisecond)
		}
	}
}

// send signals a process unless its pid was reused.
func send(p info, sig syscall.Signal) error {
	if !still(p) {
		return nil
	}
	return syscall.Kill(p.pid, sig)
}
