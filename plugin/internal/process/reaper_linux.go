package process

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes this process the parent of all orphans among its descendants.
func becomeSubreaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

const maxrssUnit = 1 << 10 // of Rusage.Maxrss

// ownPeak returns the most memory that this program has had. Rusage would also count the
// memory that the host had as it forked this process.
func ownPeak() (kib int64) {
	text, _ := readProc("self/status")
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}

// releaseLeaderLocked is called when a leader is reaped. The other members are orphans, which
// the group counts, or descend from orphans.
func (t *Table) releaseLeaderLocked(g *Group) {
	t.releaseLocked(g)
}

// hasEnded reports whether a child that is not reaped has ended.
func hasEnded(pid int) bool {
	var child unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &child, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	if err != nil {
		return true
	}
	// A child that asked to be traced by this process is reported when it stops, too.
	return child.Signo != 0 && child.Code <= cldDumped
}

// cldDumped is the last of the codes CLD_EXITED, CLD_KILLED and CLD_DUMPED.
const cldDumped = 3

// awaitEnd waits for the end of a process, which need not be a child. It may return
// too early.
func awaitEnd(pid int) {
	pidfd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		time.Sleep(10 * time.Millisecond) // there may be too many open files
		return
	}
	file := os.NewFile(uintptr(pidfd), "pidfd")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool { // waits without a thread
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0
	})
}
