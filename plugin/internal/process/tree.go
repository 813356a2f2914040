package process

// info is what the system says about a process.
type info struct {
	pid, ppid, pgrp int
	start           uint64 // with the pid it names a process for good
	dead            bool   // it has ended and waits to be reaped
	ending          bool   // it is about to be dead; always false on macOS
	forked          bool   // it is at work and has executed nothing yet; always false on macOS
}

// descendants returns the processes for which isRoot is true and all that
// descend from them, as far as they live.
func descendants(all map[int]info, isRoot func(info) bool) []info {
	children := make(map[int][]info, len(all))
	var found, next []info
	for _, p := range all {
		children[p.ppid] = append(children[p.ppid], p)
		if isRoot(p) {
			next = append(next, p)
		}
	}
	for seen := make(map[int]bool); len(next) > 0; {
		p := next[0]
		next = next[1:]
		if seen[p.pid] {
			continue
		}
		seen[p.pid] = true
		if !p.dead {
			found = append(found, p)
		}
		next = append(next, children[p.pid]...)
	}
	return found
}
