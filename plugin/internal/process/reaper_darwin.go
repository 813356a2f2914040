package process

// becomeSubreaper does nothing: all orphans go to launchd.
func becomeSubreaper() {}

func adopted() []int { return nil }

// members lists the live processes of a group: its process group and what
// descends from that.
func (g *Group) members() []info {
	all := list()
	roots := g.reaper.roots(g)
	if _, taken := all[g.PID]; isClosed(g.gone) || taken && len(roots) == 0 {
		return nil // the number may be another's, or is: the process group is empty
	}
	return descendants(all, func(p info) bool { return p.pgrp == g.PID })
}

// awaitRest waits for the end of the members that outlive the leader.
func awaitRest(g *Group) {
	for members := g.members(); len(members) > 0; members = g.members() {
		awaitExit(members[0])
	}
}
