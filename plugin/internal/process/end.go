package process

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPatience bounds the wait for processes that SIGKILL does not end because
	// they hang in the kernel.
	killPatience = 3 * time.Second
	// crowdPatience bounds it for others: where hundreds want a processor, even the end
	// of a process takes seconds.
	crowdPatience = 10 * time.Second
)

// deniedRounds is how many rounds in a row may find only processes of other
// users before End gives up.
const deniedRounds = 5

// SignalName returns a signal's name as bash knows it, "" if it has none.
func SignalName(sig syscall.Signal) string { return unix.SignalName(sig) }

// Signal sends sig to every member, and wakes those that are stopped so that
// they can act on it. A member that has asked this process to trace it, and stopped for
// that, would act on none: it is killed.
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
	denied := 0
	for begin := time.Now(); denied < deniedRounds && time.Since(begin) < crowdPatience; {
		members := g.members()
		if slices.ContainsFunc(members, func(p info) bool { return p.hangs }) && time.Since(begin) > killPatience {
			break
		}
		if denied++; !kill(members, syscall.Getpgrp()) {
			denied = 0
		}
		for range 10 { // also kills processes that fork and end faster than members can list them
			if g.goneWithin(time.Millisecond) {
				return true
			}
			kill(g.table.roots(g)[g], syscall.Getpgrp())
		}
	}
	return false
}

// kill kills processes and their process groups, except the plugin's own. It returns
// true if there are processes and all of them belong to another user.
func kill(ps []info, plugin int) (denied bool) {
	sendGroups(ps, plugin, syscall.SIGKILL)
	denied = len(ps) > 0
	for _, p := range ps { // a process may have moved to another process group
		if !errors.Is(send(p, syscall.SIGKILL), syscall.EPERM) {
			denied = false
		}
	}
	return denied
}

// sendGroups signals the process groups of ps. The kernel does that in one
// step, so that a process that forks meanwhile cannot get away. A process
// group keeps its number for as long as a process is in it. The plugin's own
// process group, which may also be the host's, is left out: a new child is in
// it for a moment.
func sendGroups(ps []info, plugin int, sig syscall.Signal) {
	done := map[int]bool{0: true, 1: true, plugin: true}
	for _, p := range ps {
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
