package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes this process the parent of all orphans among its descendants.
func becomeSubreaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// members lists the live processes of a group: its roots and their descendants.
func (g *Group) members() []info { return below(g.table.roots(g)) }

// releaseLeaderLocked is called when a leader is reaped: the other members are
// orphans, which are counted, or descend from them.
func (t *Table) releaseLeaderLocked(g *Group) {
	t.guardian.ended(g.PID)
	t.releaseLocked(g)
}

// hasEnded reports whether a child that is not reaped has ended.
func hasEnded(pid int) bool {
	var child unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &child, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || child.Signo != 0
}

// awaitExit waits for the end of any process, not only of a child.
func awaitExit(p info) {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(pidfd)
	for still(p) {
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
	}
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
