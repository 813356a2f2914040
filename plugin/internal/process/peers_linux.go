package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxDepth bounds how many ancestors of a process SignalPeer looks at.
const maxDepth = 100

// SignalPeer does what kill(2) does, for a thread of g that waits in it while waits returns
// true. It returns false if the kernel is to decide: pid is no process and no process group of
// a peer, or the thread may do less than this process.
//
// All processes of a process group belong to one Group: they are of one session of the kernel,
// whose first process a command has made.
func (g *Group) SignalPeer(
	thread int, waits func() bool, pid int, sig syscall.Signal,
) (errno syscall.Errno, done bool) {
	if pid == 0 || pid == -1 { // they stand for many
		return 0, false
	}
	flags := 0
	if pid < 0 {
		flags = unix.PIDFD_SIGNAL_PROCESS_GROUP
	}
	pidfd := g.openPeer(pid)
	if pidfd < 0 {
		return 0, false
	}
	defer unix.Close(pidfd)
	// In this order: if it still waits after the look, then it is the thread that was looked at.
	if !mayAsk(thread) || !waits() {
		return 0, false
	}
	errno, _ = errors.AsType[syscall.Errno](unix.PidfdSendSignal(pidfd, sig, nil, flags))
	return errno, errno != unix.ESRCH
}

// openPeer returns a pidfd of a peer's process. If pid is negative, it is that of the leader of
// the process group -pid. It returns -1 if there is none.
func (g *Group) openPeer(pid int) int {
	if pid > 0 {
		return g.openMember(pid)
	}
	pidfd := g.openLeader(-pid)
	if pidfd >= 0 {
		return pidfd
	}
	return g.openMember(-pid)
}

// openMember returns a pidfd of a live process of a peer, -1 if there is none.
func (g *Group) openMember(pid int) int {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	// A pid that is reused here does no harm: the pidfd is then that of a process that has
	// ended, which no signal reaches.
	peer := g.peerOf(pid)
	if peer == nil || !peer.isAbove(pid) {
		unix.Close(pidfd)
		return -1
	}
	return pidfd
}

// openLeader returns a pidfd of a peer's leader. Through it the leader's process group can be
// signalled even if the leader has ended. It returns -1 if there is no such peer.
func (g *Group) openLeader(pid int) int {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	for _, peer := range g.table.groups {
		if peer.PID == pid && g.isPeer(peer) {
			pidfd, _ := unix.FcntlInt(uintptr(peer.handle), unix.F_DUPFD_CLOEXEC, 0) // -1 if it fails
			return pidfd
		}
	}
	return -1
}

// peerOf returns the peer whose tag a process has; nil: none.
func (g *Group) peerOf(pid int) *Group {
	carried := tagOf(pid)
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	peer := g.table.groups[carried]
	if peer == nil || !g.isPeer(peer) {
		return nil
	}
	return peer
}

func (g *Group) isPeer(other *Group) bool { return other != g && other.peers == g.peers }

// isAbove reports whether a process is the leader or an orphan of g, or descends from one.
func (g *Group) isAbove(pid int) bool {
	root := childAbove(pid)
	t := g.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaders[root] == nil && t.orphans[root] == nil {
		t.sweepLocked() // it may be a new orphan
	}
	return t.leaders[root] == g || t.orphans[root] == g
}

// childAbove returns the pid of the child of this process from which a process descends, or
// pid itself if that is a child; 0: there is none.
func childAbove(pid int) int {
	p, err := stat(pid)
	for range maxDepth {
		if err != nil {
			return 0
		}
		if p.ppid == os.Getpid() {
			return p.pid
		}
		child := p
		p, err = stat(child.ppid)
		if p.start > child.start { // the pid was reused
			return 0
		}
	}
	return 0
}

// mayAsk reports whether a thread of a command may do what this process does for it: it has
// this process's user and namespace of pids, and is in no further sandbox of seccomp filters.
func mayAsk(thread int) bool {
	text, _ := readProc("%d/status", thread)
	own, _ := readProc("self/status")
	uids := fieldsOf(text, "Uid")
	ofThread := fieldsOf(text, "Seccomp_filters")
	ofThis := fieldsOf(own, "Seccomp_filters")
	if len(uids) < 2 || len(ofThread) != 1 || len(ofThis) != 1 {
		return false
	}
	filters, _ := strconv.Atoi(ofThis[0])
	isSameUser := uids[1] == strconv.Itoa(os.Geteuid())
	isSandboxedOnce := ofThread[0] == strconv.Itoa(filters+1)
	isSameNamespace := len(fieldsOf(text, "NSpid")) == 1
	return isSameUser && isSandboxedOnce && isSameNamespace
}

// fieldsOf returns the fields of a line of /proc/PID/status.
func fieldsOf(status []byte, name string) (values []string) {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	for field := range bytes.FieldsSeq(line) {
		values = append(values, string(field))
	}
	return values
}

// hold opens the handle of a new leader. The table's mu is held.
func (g *Group) hold() {
	if g.peers != nil {
		g.handle, _ = unix.PidfdOpen(g.PID, 0) // -1 if it fails
	}
}

// release closes the handle. The table's mu is held.
func (g *Group) release() {
	if g.handle >= 0 {
		unix.Close(g.handle)
		g.handle = -1
	}
}
