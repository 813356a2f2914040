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
// true. It returns false if the kernel is to decide: what is to be signalled is no process and
// no process group of a peer, or the thread may do less than this process.
//
// All processes of a process group belong to one group, as they are of one session of the
// kernel, whose first process a command has made.
func (g *Group) SignalPeer(thread int, waits func() bool, pid int, sig syscall.Signal) (errno syscall.Errno, done bool) {
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
	if !mayAsk(thread) || !waits() { // in this order: a thread that waits still was the one that was looked at
		return 0, false
	}
	errno, _ = errors.AsType[syscall.Errno](unix.PidfdSendSignal(pidfd, sig, nil, flags))
	return errno, errno != unix.ESRCH
}

// openPeer returns a pidfd of a peer's process, or of the one whose number the process group
// -pid has. It returns -1 if there is none.
func (g *Group) openPeer(pid int) int {
	if pid < 0 {
		pid = -pid
		if pidfd := g.leaderOfPeer(pid); pidfd >= 0 { // it may have ended
			return pidfd
		}
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	// If the process lives when it is signalled, its pid was its own here.
	if peer := g.peerOf(pid); peer == nil || !peer.isAbove(pid) {
		unix.Close(pidfd)
		return -1
	}
	return pidfd
}

// leaderOfPeer returns a pidfd of the leader of a peer, which keeps the number of its process
// group once it has ended. It returns -1 if there is no such peer.
func (g *Group) leaderOfPeer(pid int) int {
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
	tag := tagOf(pid)
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	peer := g.table.groups[tag]
	if peer == nil || !g.isPeer(peer) {
		return nil
	}
	return peer
}

func (g *Group) isPeer(other *Group) bool { return other != g && other.peers == g.peers }

// isAbove reports whether a process descends from the leader or an orphan of g, or is one.
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

// childAbove returns the child of this process from which a process descends, or which it is;
// 0: there is none.
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
	return uids[1] == strconv.Itoa(os.Geteuid()) && ofThread[0] == strconv.Itoa(filters+1) && len(fieldsOf(text, "NSpid")) == 1
}

// fieldsOf returns what a line of /proc/PID/status says.
func fieldsOf(status []byte, name string) (values []string) {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	for field := range bytes.FieldsSeq(line) {
		values = append(values, string(field))
	}
	return values
}

// hold opens the handle of a new leader.
func (g *Group) hold() {
	if g.peers != nil {
		g.handle, _ = unix.PidfdOpen(g.PID, 0) // -1 if it fails
	}
}

// release closes the handle.
func (g *Group) release() {
	if g.handle >= 0 {
		unix.Close(g.handle)
		g.handle = -1
	}
}
