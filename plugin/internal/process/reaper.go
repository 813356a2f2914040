package process

import (
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// reapLeader reaps a group's leader as soon as it has ended. It waits by a pidfd,
// which is faster than SIGCHLD.
func (t *Table) reapLeader(g *Group) {
	for !hasEnded(g.PID) {
		awaitEnd(g.PID)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked() // adopts its children; only now may it be reaped
	t.guardian.ended(g.PID)
	g.status = t.waitLocked(g, g.PID)
	delete(t.leaders, g.PID)
	close(g.exited)
	t.releaseLeaderLocked(g)
}

// reapOrphans reaps orphans as they end, until Close. It waits for SIGCHLD: there may be
// more orphans than this process may have pidfds.
func (t *Table) reapOrphans() {
	defer signal.Stop(t.ends)
	sweep := time.NewTicker(time.Second) // the guardian learns of new orphans
	defer sweep.Stop()
	for {
		select {
		case <-t.ends:
		case <-sweep.C:
		case <-t.quit:
			return
		}
		t.reapEndedOrphans()
	}
}

func (t *Table) reapEndedOrphans() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked() // an orphan may have ended before it was adopted
	for pid, g := range t.orphans {
		if !hasEnded(pid) {
			continue
		}
		if g.children == 1 {
			t.sweepLocked() // adopts its children; only now may it be reaped
		}
		t.guardian.ended(pid)
		t.waitLocked(g, pid)
		delete(t.orphans, pid)
		t.releaseLocked(g)
	}
}

// waitLocked reaps a child that has ended, and adds what it has used to its group.
func (t *Table) waitLocked(g *Group, pid int) Status {
	var status syscall.WaitStatus
	var used syscall.Rusage
	_, err := syscall.Wait4(pid, &status, 0, &used)
	if err != nil {
		return Status{Code: -1} // it was reaped elsewhere
	}
	g.reaped.CPU += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	peak := used.Maxrss * maxrssUnit
	if pid == g.PID {
		peak = t.leadersOwnLocked(peak)
	}
	g.reaped.MaxMemory = max(g.reaped.MaxMemory, peak)
	if status.Signaled() {
		return Status{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Status{Code: status.ExitStatus()}
}

// leadersOwnLocked returns a leader's peak of memory if that is its own, otherwise 0. Until its
// exec a leader has the memory of this process, and the kernel counts that, too.
func (t *Table) leadersOwnLocked(peak int64) int64 {
	if peak > t.peak/8*9 {
		t.peak = ownPeak() // it may have grown
	}
	if peak > t.peak/8*9 {
		return peak
	}
	return 0
}

// releaseLocked records that a group has one child less.
func (t *Table) releaseLocked(g *Group) {
	g.children--
	if g.children == 0 && !isClosed(g.gone) { // it is closed if strays came after Close
		delete(t.groups, g.tag)
		g.release()
		close(g.gone)
	}
}

// sweepLocked adopts the orphans that have come since the last call, and the children that a
// command has given to this process by CLONE_PARENT. It is cheap if there are none. If it is
// called between the end and the reaping of a child, it finds all the orphans of that child.
func (t *Table) sweepLocked() {
	for _, pid := range adopted(t.forker.id) {
		if t.leaders[pid] != nil || t.orphans[pid] != nil || t.guardian.is(pid) {
			continue
		}
		g := t.groups[tagOf(pid)]
		mayLead := g == nil && t.isForking || g != nil && g.PID == 0
		if mayLead {
			continue // if it is an orphan, the next sweep adopts it
		}
		if g == nil {
			g = t.strays
		}
		t.adoptLocked(pid, g)
	}
}

func (t *Table) adoptLocked(pid int, g *Group) {
	t.orphans[pid] = g
	g.children++
	t.guardian.begun(pid)
	if g == t.strays {
		t.guardian.flush() // the guardian cannot know a stray by its tag
	}
	select {
	case t.ends <- syscall.SIGCHLD: // it may have ended already
	default:
	}
}

// roots lists the children of this process that belong to each of some groups.
func (t *Table) roots(of ...*Group) map[*Group][]info {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked()
	roots := make(map[*Group][]info)
	for _, children := range []map[int]*Group{t.leaders, t.orphans} {
		for pid, g := range children {
			if !slices.Contains(of, g) {
				continue
			}
			p, err := stat(pid)
			if err == nil {
				roots[g] = append(roots[g], p)
			}
		}
	}
	return roots
}
