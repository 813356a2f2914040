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

// reapOrphans reaps orphans as they end, until Close. There may be more of them than
// this process may have pidfds.
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
	if _, err := syscall.Wait4(pid, &status, 0, &used); err != nil {
		return Status{Code: -1} // it was reaped elsewhere
	}
	g.reaped.CPU += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	peak := used.Maxrss * maxrssUnit
	if pid == g.PID && peak > t.peak/8*9 { // a leader had this process's memory until its exec, which counts as its own
		t.peak = ownPeak()
	}
	if pid != g.PID || peak > t.peak/8*9 {
		g.reaped.MaxMemory = max(g.reaped.MaxMemory, peak)
	}
	if status.Signaled() {
		return Status{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Status{Code: status.ExitStatus()}
}

// releaseLocked records that a group has one child less.
func (t *Table) releaseLocked(g *Group) {
	if g.children--; g.children == 0 && !isClosed(g.gone) { // strays may come again
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
		switch {
		case g != nil && g.PID != 0:
			t.adoptLocked(pid, g)
		case g == nil && !t.begins:
			t.adoptLocked(pid, t.strays)
		} // otherwise it may be the leader of a group that begins: the next sweep will tell
	}
}

func (t *Table) adoptLocked(pid int, g *Group) {
	t.orphans[pid] = g
	g.children++
	t.guardian.begun(pid)
	if g == t.strays {
		t.guardian.flush() // no tag tells of it
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
			if p, err := stat(pid); err == nil {
				roots[g] = append(roots[g], p)
			}
		}
	}
	return roots
}
