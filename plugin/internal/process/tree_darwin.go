package process

// members lists the live processes of a group: its process group and the
// descendants of that.
func (g *Group) members() []info {
	all := list()
	leads := len(g.table.roots(g)[g]) > 0
	_, taken := all[g.PID]
	if isClosed(g.gone) || taken && !leads {
		return nil // the process group is empty, and its number may be or is reused
	}
	var roots []info
	for _, p := range all {
		if p.pgrp == g.PID {
			roots = append(roots, p)
		}
	}
	return below(roots)
}

// family returns a function that lists the children that a process has now.
func family() func(p info) []info {
	children := make(map[int][]info)
	for _, p := range list() {
		children[p.ppid] = append(children[p.ppid], p)
	}
	return func(p info) []info { return children[p.pid] }
}

// adopted returns none: launchd gets all orphans.
func adopted(int) []int { return nil }

func threadID() int { return 0 }
