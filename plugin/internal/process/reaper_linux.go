package process

import "golang.org/x/sys/unix"

// becomeSubreaper makes this process the one that orphans come to.
func becomeSubreaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// members lists the live processes of a group: all descend from its roots.
func (g *Group) members() []info { return below(g.reaper.roots(g)) }

// releaseLeaderLocked is called when a leader is reaped: the other members are
// orphans, or descend from them.
func (r *reaper) releaseLeaderLocked(p info, g *Group) { r.releaseLocked(p, g) }
