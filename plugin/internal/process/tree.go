package process

import (
	"os"
	"slices"
	"time"
)

// info is what the system says about a process.
type info struct {
	pid, ppid, pgrp int
	start           uint64 // when it started; pid and start together are never reused
	dead            bool   // it has ended and waits to be reaped
	ending          bool   // it is about to be dead; always false on macOS
	forked          bool   // it runs and has not called exec since its fork; always false on macOS
	runs            bool   // it has work, and a processor or soon one; always false on macOS
	hangs           bool   // it waits in the kernel and takes no signal meanwhile; always false on macOS
	halted          bool   // a signal, or the process that traces it, has stopped it; always false on macOS

	single bool          // it has one thread; false on macOS
	rss    int64         // its memory in bytes; 0 on macOS
	cpu    time.Duration // the processor time of it and of the children that it has reaped; 0 on macOS
}

// list reads every process there is.
func list() map[int]info {
	all := make(map[int]info)
	for _, pid := range pids() {
		if p, err := stat(pid); err == nil {
			all[pid] = p
		}
	}
	return all
}

// below returns the live ones of the given processes and their descendants, parents
// before children, without this process.
func below(roots []info) []info {
	return slices.DeleteFunc(withZombies(roots), func(p info) bool { return p.dead })
}

// withZombies is below with the ones that have ended and wait to be reaped.
func withZombies(roots []info) []info {
	var found []info
	children := family()
	for seen := map[int]bool{os.Getpid(): true}; len(roots) > 0; {
		p := roots[len(roots)-1]
		roots = roots[:len(roots)-1]
		if seen[p.pid] {
			continue
		}
		seen[p.pid] = true
		found = append(found, p)
		roots = append(roots, children(p)...)
	}
	return found
}
