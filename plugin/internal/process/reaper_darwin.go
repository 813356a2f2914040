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

// releaseLeaderLocked is called when a leader is reaped: nothing else tells of the
// other members' end.
func (r *reaper) releaseLeaderLocked(p info, g *Group) {
	go func() {
		for members := g.members(); len(members) > 0; members = g.members() {
			awaitExit(members[0])
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.releaseLocked(p, g)
	}()
}
