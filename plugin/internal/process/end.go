package process

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPatience bounds how long End waits if processes hang in the kernel, where
	// SIGKILL does not end them.
	killPatience = 3 * time.Second

	// crowdPatience bounds how long End waits for other processes: if hundreds of them
	// want a processor, even ending one takes seconds.
	crowdPatience = 10 * time.Second
)

// deniedRounds is how many rounds in a row may find only processes of other
// users before End gives up.
const deniedRounds = 5

// SignalName returns a signal's name as bash knows it, "" if it has none.
func SignalName(sig syscall.Signal) string { return unix.SignalName(sig) }

// Signal sends sig to every member, and wakes those that are stopped so that they can
// act on it. A member that asked this process to trace it, and that stopped for that,
// could not act on any signal: Signal kills it.
func (g *Group) Signal(sig syscall.Signal) {
	members := g.members()
	sendGroups(members, syscall.Getpgrp(), sig)
	if sig != syscall.SIGKILL && sig != syscall.SIGSTOP {
		sendGroups(members, syscall.Getpgrp(), syscall.SIGCONT)
	}
	for _, p := range members {
		if p.halted && isTracedByThis(p.pid) {
			_ = send(p, syscall.SIGKILL)
		}
	}
}

// End ends the whole group: it sends sig, and after grace SIGKILL until no process is
// left. It returns false if a process is left: one that hangs in the kernel, or that
// belongs to another user.
func (g *Group) End(sig syscall.Signal, grace time.Duration) bool {
	if sig != syscall.SIGKILL {
		g.Signal(sig)
		if g.goneWithin(grace) {
			return true
		}
	}
	begin := time.Now()
	denied := 0 // rounds in a row
	for denied < deniedRounds && time.Since(begin) < crowdPatience {
		members := g.members()
		hangs := slices.ContainsFunc(members, func(p info) bool { return p.hangs })
		if hangs && time.Since(begin) > killPatience {
			return false
		}
		isDenied := kill(members, syscall.Getpgrp())
		if isDenied {
			denied++
		} else {
			denied = 0
		}
		isGone := g.killRoots()
		if isGone {
			return true
		}
	}
	return false
}

// killRoots kills the children of this process that belong to the group, again and again
// for about 10 ms. To list these is quick, so it also catches processes that fork and end
// faster than members can list them. It returns true once the group is gone.
func (g *Group) killRoots() bool {
	for range 10 {
		if g.goneWithin(time.Millisecond) {
			return true
		}
		kill(g.table.roots(g)[g], syscall.Getpgrp())
	}
	return false
}

// kill kills processes and their process groups, except the plugin's own. It returns
// true if there are processes and all of them belong to another user.
func kill(processes []info, plugin int) (denied bool) {
	sendGroups(processes, plugin, syscall.SIGKILL)
	denied = len(processes) > 0
	for _, p := range processes { // a process may have moved to another process group
		err := send(p, syscall.SIGKILL)
		if !errors.Is(err, syscall.EPERM) {
			denied = false
		}
	}
	return denied
}

// sendGroups signals the process groups of some processes. The kernel does that in one
// step, so that a process that forks meanwhile cannot get away. A process
// group keeps its number for as long as a process is in it. The plugin's own
// process group, which may also be the host's, is left out: a new child is in
// it for a moment.
func sendGroups(processes []info, plugin int, sig syscall.Signal) {
	done := map[int]bool{0: true, 1: true, plugin: true}
	for _, p := range processes {
		if !done[p.pgrp] && still(p) {
			done[p.pgrp] = true
			_ = syscall.Kill(-p.pgrp, sig)
		}
	}
}

// still reports whether p lives and its pid was not reused, so that it may be
// signalled.
func still(p info) bool {
	now, err := stat(p.pid)
	return err == nil && now.start == p.start && !now.dead
}
