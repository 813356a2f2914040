package process

import (
	"os"
	"slices"
	"time"
)

// info is what the system says about a process.
type info struct {
	pid  int
	ppid int
	pgrp int

	// start is when it started. pid and start together are never reused.
	start uint64

	// dead says that it has ended and waits to be reaped.
	dead bool

	// The other fields are always false or 0 on macOS.

	ending bool // it is about to be dead
	single bool // it has one thread

	// forked says that it runs and has not called exec since its fork.
	forked bool

	// runs says that it has a processor, or will soon.
	runs bool

	// hangs says that it waits in the kernel and takes no signal meanwhile.
	hangs bool

	// halted says that a signal, or the process that traces it, has stopped it.
	halted bool

	rss int64 // its memory in bytes

	// cpu is the processor time of it and of the children that it has reaped.
	cpu time.Duration
}

// list reads every process there is.
func list() map[int]info {
	all := make(map[int]info)
	for _, pid := range pids() {
		p, err := stat(pid)
		if err == nil {
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

// withZombies is like below, and also returns those that have ended and wait to be reaped.
func withZombies(roots []info) []info {
	var found []info
	children := family()
	seen := map[int]bool{os.Getpid(): true}
	for len(roots) > 0 {
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
