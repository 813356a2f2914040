package process

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// forkExec starts a program as the leader of a new session. The pidfd is -1
// where the kernel has none.
func forkExec(path string, args []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	pidfd = -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	pid, err = syscall.ForkExec(path, args, attr)
	return pid, pidfd, err
}

// awaitLeader waits for a child's end and leaves it to be reaped: until then
// its pid is nobody else's. It closes pidfd.
func awaitLeader(pid, pidfd int) {
	if pidfd >= 0 {
		pollExit(pidfd) // without a thread that waits
	}
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// hasEnded reports whether a child has ended that is not reaped.
func hasEnded(pid int) bool {
	var child unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &child, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || child.Signo != 0
}

// watched counts the processes that awaitExit has a descriptor for.
var watched atomic.Int64

// maxWatched leaves most descriptors to what cannot do without.
var maxWatched = sync.OnceValue(func() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int64(min(limit.Cur, 1<<20) / 4)
})

// awaitExit waits for the end of any process, not only of a child.
func awaitExit(p info) {
	if watched.Add(1) > maxWatched() {
		watched.Add(-1)
		pollStill(p)
		return
	}
	defer watched.Add(-1)
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		pollStill(p)
		return
	}
	if !mayLive(p) { // the pid is another process's by now
		unix.Close(pidfd)
		return
	}
	pollExit(pidfd)
}

// pollExit returns when the process has ended, without a thread waiting for
// it, and closes pidfd.
func pollExit(pidfd int) {
	if err := unix.SetNonblock(pidfd, true); err != nil {
		unix.Close(pidfd)
		return
	}
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

// send signals a process, if it is still the one that p tells of.
func send(p info, sig syscall.Signal) error {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return sendByPID(p, sig)
	}
	defer unix.Close(pidfd)
	if !still(p) {
		return nil
	}
	return unix.PidfdSendSignal(pidfd, sig, nil, 0)
}
