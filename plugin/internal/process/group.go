package process

import (
	"cmp"
	"os"
	"strings"
	"syscall"
	"time"
)

// Spec says what to start.
type Spec struct {
	Path  string // of the program
	Args  []string
	Dir   string
	Env   []string
	Files []*os.File // stdin, stdout, stderr, and from 3 on whatever else it gets
}

// Status is how a process ended.
type Status struct {
	Code   int            // 128+n after signal n
	Signal syscall.Signal // that ended it; 0 where it exited by itself
}

// Info names a live process.
type Info struct {
	PID     int
	Command string // its command line
}

// Group is one command and everything that descends from it. It is safe for
// concurrent use.
type Group struct {
	PID     int // of the leader; also its session and process group
	Started time.Time

	table  *Table
	line   string    // the leader's arguments, as arguments gives them
	mark   uint64    // that every process of the group has, but for those of a session within it
	token  string    // in the environment of every process of the group, unless cleared
	start  uint64    // clock of the leader's start, as in info.start
	output [2]uint64 // the numbers of the pipes that the leader writes to; 0: another file
	exited chan struct{}
	empty  chan struct{} // the leader and every orphan of the group have ended
	gone   chan struct{}

	// Set once exited is closed.
	status Status    // of the leader
	left   bool      // it left something behind
	ended  time.Time // of the leader

	// Guarded by the table's mu.
	slot    int            // in the table's record
	reaped  bool           // the leader is
	orphans int            // those of the table's that are the group's
	known   map[int]uint64 // members seen so far, by pid: their start
}

// Exited is closed when the leader has ended and what it left behind is known.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Gone is closed when the leader and every other member have ended.
func (g *Group) Gone() <-chan struct{} { return g.gone }

// Status returns how the leader ended. It may be called once Exited is closed.
func (g *Group) Status() Status { return g.status }

// LeaderLives reports whether the leader has not ended, be that known yet or not.
func (g *Group) LeaderLives() bool { return !g.hasExited() && !hasEnded(g.PID) }

// LeaderHandles reports whether the leader catches or ignores a signal. Where it
// does not, it cannot exit because of it: it dies.
func (g *Group) LeaderHandles(sig syscall.Signal) bool { return handles(g.PID, sig) }

// lastWork bounds the wait for who works on what the leader has left.
const lastWork = 50 * time.Millisecond

// LeftBehind reports whether another process lives that outlived the leader.
// It may be called once Exited is closed. It returns at once but for processes
// that are just ending or forking, or that relay the leader's last words.
func (g *Group) LeftBehind() bool {
	after := stopwatch{since: g.ended}
	for quiet := 0; g.left; {
		members := g.table.members(g)
		patience := time.Millisecond
		if len(members) > 0 {
			used := after.used(members)
			relays, busy := g.relays(members, used)
			if quiet++; busy {
				quiet = 0
			}
			// One look may be between one's end and the next one's work.
			if !relays || quiet == 3 || used > lastWork {
				return true
			}
			patience = max(patience/4, time.Since(g.ended)/16)
		}
		if g.goneWithin(patience) {
			return false
		}
	}
	return false
}

// relays reports whether there are processes that read from a pipe, or may be
// about to, and whether one is at work. Who reads from the leader, as in
// "exec > >(tee log)", was woken by the leader's end, and works until it has
// written the rest.
func (g *Group) relays(members []info, used time.Duration) (some, busy bool) {
	for _, p := range members {
		if p.ending { // it closes its files, which may take the disk's time
			some, busy = true, true
		} else if readsPipe(p.pid) || used < execTime && arguments(p.pid) == g.line {
			some, busy = true, busy || p.running || p.blocked
		}
	}
	return some, busy
}

// Members lists the live processes of the group.
func (g *Group) Members() []Info {
	select {
	case <-g.gone:
		return nil
	default:
	}
	var members []Info
	after := stopwatch{since: g.ended}
	for _, p := range g.table.members(g) {
		if p.ending {
			continue
		}
		if line := g.commandLine(p, &after); line != "" { // it has ended since
			members = append(members, Info{p.pid, line})
		}
	}
	return members
}

func (g *Group) hasExited() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}

// execTime is how long after the leader's end a process that it forked at last
// may take to become what it is to be.
const execTime = 2 * time.Millisecond

// lineOf returns arguments as a line of text.
func lineOf(arguments string) string {
	return strings.ToValidUTF8(strings.TrimSpace(arguments), "\uFFFD")
}

func (g *Group) commandLine(p info, after *stopwatch) string {
	for {
		line := arguments(p.pid)
		settled := line != "" && line != g.line
		if settled || !g.hasExited() || after.used([]info{p}) > execTime {
			return cmp.Or(line, name(p.pid))
		}
		time.Sleep(execTime / 20)
		p, _ = stat(p.pid)
	}
}

// Signal sends sig to every member, and wakes those that are stopped so that
// they can act on it.
func (g *Group) Signal(sig syscall.Signal) {
	members := g.table.members(g)
	sendGroups(members, syscall.Getpgrp(), sig)
	if sig != syscall.SIGKILL && sig != syscall.SIGSTOP {
		sendGroups(members, syscall.Getpgrp(), syscall.SIGCONT)
	}
}

// sendGroups signals the process groups of ps. The kernel does that in one
// step, so that a process that forks meanwhile cannot get away. A process
// group keeps its number for as long as a process is in it. The plugin's group
// is left out: a command is in it, and with it the host where that did not give
// the plugin one of its own, until its own begins.
func sendGroups(ps []info, plugin int, sig syscall.Signal) {
	done := map[int]bool{0: true, 1: true, plugin: true}
	for _, p := range ps {
		if !done[p.pgrp] && still(p) {
			done[p.pgrp] = true
			_ = syscall.Kill(-p.pgrp, sig)
		}
	}
}

// killPatience bounds the wait for processes that SIGKILL does not end, which
// hang in the kernel.
const killPatience = 3 * time.Second

// deniedRounds is after how many rounds in which only processes of other users
// were found End gives up.
const deniedRounds = 5

// End ends the whole group: sig, then after grace SIGKILL until nothing is
// left. It reports whether that is so; only a process that hangs in the kernel,
// or is another user's, outlives it.
func (g *Group) End(sig syscall.Signal, grace time.Duration) bool {
	if sig != syscall.SIGKILL {
		g.Signal(sig)
		if g.goneWithin(grace) {
			return true
		}
	}
	denied := 0
	for deadline := time.Now().Add(killPatience); denied < deniedRounds && time.Now().Before(deadline); {
		if denied++; !g.kill() {
			denied = 0
		}
		for range 10 { // what forked meanwhile is killed in the next rounds
			if g.goneWithin(time.Millisecond) {
				return true
			}
			g.killOrphans()
		}
	}
	return false
}

// kill reports whether only processes of other users are left.
func (g *Group) kill() (denied bool) {
	members := g.table.members(g)
	sendGroups(members, syscall.Getpgrp(), syscall.SIGKILL)
	return killEach(members) // one may have moved
}

// killOrphans is kill for those that lost their parents. It is quick, for
// processes that fork and end faster than kill can look.
func (g *Group) killOrphans() { killEach(g.table.orphansOf(g)) }

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

// lead waits for the leader's end, then for that of the rest.
func (g *Group) lead(pidfd int) {
	awaitLeader(g.PID, pidfd)
	g.table.endLeader(g)
	g.ended = time.Now()
	close(g.exited)
	g.table.awaitEmpty(g)
	close(g.gone)
}
