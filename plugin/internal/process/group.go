package process

import (
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"bashplugin/shared"
)

// Group is one command and everything that descends from it. It is safe for
// concurrent use.
type Group struct {
	// PID is that of the leader, of its session and of its process group.
	PID     int
	Started time.Time

	table *Table
	tag   tag
	peers *Peers // nil: none

	// exited is closed when the leader is reaped and status is set.
	exited chan struct{}
	status Status // of the leader

	// gone is closed when children becomes 0.
	gone chan struct{}

	// looking is true while a goroutine of Waiting runs.
	looking atomic.Bool

	// The table's mu guards the fields below.

	// children is how many processes of the group are children of this process: the leader
	// and the orphans.
	children int

	// handle is a pidfd of the leader if the group has peers, otherwise -1.
	handle int

	reaped shared.Usage // of the reaped processes
	seen   shared.Usage // the most that Watch has seen
}

// Status is how a process ended.
type Status struct {
	Code int // 128+n after signal n

	// Signal is the signal that ended the process, 0 if it exited by itself.
	Signal syscall.Signal
}

func newGroup(t *Table, carried tag) *Group {
	return &Group{
		Started:  time.Now(),
		table:    t,
		tag:      carried,
		handle:   -1,
		children: 1,
		exited:   make(chan struct{}),
		gone:     make(chan struct{}),
	}
}

// Exited is closed when the leader has ended and its orphans are adopted.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Gone is closed when the leader and every other member have ended.
func (g *Group) Gone() <-chan struct{} { return g.gone }

// Status returns how the leader ended. It may be called once Exited is closed.
func (g *Group) Status() Status { return g.status }

// Usage returns what the group has used so far. Without Watch it is what the reaped
// processes have used, and the memory is that of the largest one.
func (g *Group) Usage() shared.Usage {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	return g.reaped.Max(g.seen)
}

// LeaderLives reports whether the leader has not ended, even if Exited is not
// closed yet.
func (g *Group) LeaderLives() bool {
	// In this order: if the leader is reaped before the first look, and its pid reused, then
	// exited is closed at the second.
	return !hasEnded(g.PID) && !isClosed(g.exited)
}

const (
	// lastWait bounds how long LeftBehind waits for processes that wait themselves.
	lastWait = 50 * time.Millisecond

	// lastWork bounds how long it waits while a process runs that reads from a pipe: its work
	// may take a busy machine a while.
	lastWork = 500 * time.Millisecond
)

// LeftBehind reports whether a process of the group has outlived the leader. It may be
// called once Exited is closed. First it waits briefly for processes that are ending, are
// between their fork and the end of their exec, or read from a pipe: the tee of
// "exec > >(tee log)" ends once it has written the last output.
func (g *Group) LeftBehind() bool {
	begin := time.Now()
	for !isClosed(g.gone) {
		members := g.members()
		staying := len(members) > 0 && !slices.ContainsFunc(members, isPassing)
		patience := lastWait
		if slices.ContainsFunc(members, func(p info) bool { return p.runs && isRelay(p) }) {
			patience = lastWork
		}
		if staying || time.Since(begin) > patience {
			return true
		}
		g.goneWithin(500 * time.Microsecond)
	}
	return false
}

// Members lists the live processes of the group.
func (g *Group) Members() []shared.Process {
	var members []shared.Process
	deadline := time.Now().Add(execTime)
	for _, p := range g.members() {
		if p.ending {
			continue
		}
		line := commandLine(p.pid, deadline)
		if line != "" { // otherwise it has just ended
			members = append(members, shared.Process{PID: p.pid, Command: line})
		}
	}
	return members
}

// Has reports whether a live member has this pid.
func (g *Group) Has(pid int) bool {
	return slices.ContainsFunc(g.members(), func(p info) bool { return p.pid == pid })
}

// goneWithin waits for the end of the group, at most for d. It returns false if the group lives.
func (g *Group) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-g.gone:
		return true
	case <-timer.C:
		return false
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
