package process

import "os"

// info is what the system says about a process.
type info struct {
	pid, ppid, pgrp int
	start           uint64 // with the pid it names a process for good
	dead            bool   // it has ended and waits to be reaped
	ending          bool   // it is about to be dead; always false on macOS
	forked          bool   // it is at work and has executed nothing yet; always false on macOS
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

// below returns the given processes and all that descend from them, as far as
// they live, parents before children. This process is never among them.
func below(roots []info) []info {
	var found []info
	children := family()
	for seen := map[int]bool{os.Getpid(): true}; len(roots) > 0; {
		p := roots[len(roots)-1]
		roots = roots[:len(roots)-1]
		if seen[p.pid] {
			continue
		}
		seen[p.pid] = true
		if !p.dead {
			found = append(found, p)
		}
		roots = append(roots, children(p.pid)...)
	}
	return found
}
