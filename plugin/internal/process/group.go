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
	PID     int // of the leader; also its session and process group
	Started time.Time

	table    *Table
	tag      tag
	peers    *Peers        // nil: none
	handle   int           // a pidfd of the leader, if there are peers; otherwise -1; guarded by the table's mu
	children int           // how many of its processes are this process's children: the leader and the orphans; guarded by the table's mu
	exited   chan struct{} // closed when the leader is reaped: status is set
	gone     chan struct{} // closed when children becomes 0
	status   Status        // of the leader

	looking      atomic.Bool  // Waiting looks
	reaped, seen shared.Usage // what its reaped processes have used, and what Watch has seen; guarded by the table's mu
}

// Status is how a process ended.
type Status struct {
	Code   int            // 128+n after signal n
	Signal syscall.Signal // the signal that ended it; 0 if it exited by itself
}

func newGroup(t *Table, m tag) *Group {
	return &Group{
		Started:  time.Now(),
		table:    t,
		tag:      m,
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
	return !hasEnded(g.PID) && !isClosed(g.exited) // in this order: it may be reaped between the two
}

// How long LeftBehind waits for the rest of a group: a result may be that late for what waits
// itself, and this late for what has work, which takes a busy machine its time.
const (
	lastWait = 50 * time.Millisecond
	lastWork = 500 * time.Millisecond
)

// LeftBehind reports whether a process of the group has outlived the leader.
// It may be called once Exited is closed. It waits for up to lastWait while a
// process is ending, is between its fork and the end of its exec, or reads from a
// pipe, and on for up to lastWork while such a process runs: the tee of "exec > >(tee log)"
// ends once it has written the last output.
func (g *Group) LeftBehind() bool {
	begin := time.Now()
	for !isClosed(g.gone) {
		members := g.members()
		staying := len(members) > 0 && !slices.ContainsFunc(members, isPassing)
		patience := lastWait
		if slices.ContainsFunc(members, func(p info) bool { return p.runs && isPassing(p) }) {
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
	late := time.Now().Add(execTime)
	for _, p := range g.members() {
		if p.ending {
			continue
		}
		if line := commandLine(p.pid, late); line != "" { // otherwise it has just ended
			members = append(members, shared.Process{PID: p.pid, Command: line})
		}
	}
	return members
}

// Has reports whether a live member has this pid.
func (g *Group) Has(pid int) bool {
	return slices.ContainsFunc(g.members(), func(p info) bool { return p.pid == pid })
}

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
