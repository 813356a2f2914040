package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forkExec starts a program as the leader of a new session.
func forkExec(path string, args []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	pidfd = -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	pid, err = syscall.ForkExec(path, args, attr)
	return pid, pidfd, err
}

// awaitChild waits for a child's end and leaves it to be reaped: until then
// its pid is nobody else's. It closes the pidfd, which may be -1.
func awaitChild(pid, pidfd int) {
	if pidfd < 0 {
		pidfd, _ = unix.PidfdOpen(pid, 0)
	}
	if pidfd >= 0 {
		awaitPidfd(pidfd) // without a thread that waits
	}
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// awaitExit waits for the end of any process, not only of a child.
func awaitExit(p info) {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	if !still(p) { // the pid is another process's by now
		unix.Close(pidfd)
		return
	}
	awaitPidfd(pidfd)
}

// awaitPidfd returns when the process has ended, without a thread waiting for
// it, and closes the pidfd.
func awaitPidfd(pidfd int) {
	_ = unix.SetNonblock(pidfd, true)
	file := os.NewFile(uintptr(pidfd), "pidfd")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// send signals a process unless its pid was reused.
func send(p info, sig syscall.Signal) error {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	if !still(p) {
		return nil
	}
	return unix.PidfdSendSignal(pidfd, sig, nil, 0)
}
