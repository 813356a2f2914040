package process

import (
	"cmp"
	"syscall"
)

// reap reaps a child of a group as soon as it has ended.
func (t *Table) reap(pid int, g *Group) {
	for !hasEnded(pid) {
		awaitEnd(pid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	isLeader := t.leaders[pid] == g
	if isLeader || g.children == 1 {
		t.sweepLocked() // adopts its children; only now may it be reaped
	}
	t.guardian.ended(pid)
	status := wait(pid)
	if !isLeader {
		delete(t.orphans, pid)
		t.releaseLocked(g)
		return
	}
	delete(t.leaders, pid)
	g.status = status
	close(g.exited)
	t.releaseLeaderLocked(g)
}

// wait reaps a child that has ended.
func wait(pid int) Status {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return Status{Code: -1} // it was reaped elsewhere
	}
	if status.Signaled() {
		return Status{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Status{Code: status.ExitStatus()}
}

// releaseLocked records that a group has one child less.
func (t *Table) releaseLocked(g *Group) {
	if g.children--; g.children == 0 && !isClosed(g.gone) { // strays may come again
		delete(t.groups, g.mark)
		close(g.gone)
	}
}

// Sweep adopts the orphans that have come since the last call. It is cheap if there
// are none. If it is called between the end and the reaping of a child, it finds all
// the orphans of that child.
func (t *Table) Sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked()
}

func (t *Table) sweepLocked() {
	for _, pid := range adopted() {
		if t.leaders[pid] == nil && t.orphans[pid] == nil && !t.guardian.is(pid) {
			t.adoptLocked(pid)
		}
	}
}

func (t *Table) adoptLocked(pid int) {
	g := cmp.Or(t.groups[markOf(pid)], t.strays)
	t.orphans[pid] = g
	g.children++
	t.guardian.begun(pid)
	if g == t.strays {
		t.guardian.flush() // no mark tells of it
	}
	go t.reap(pid, g)
}

// roots lists the children of this process that belong to g.
func (t *Table) roots(g *Group) []info {
	t.Sweep()
	t.mu.Lock()
	defer t.mu.Unlock()
	var roots []info
	for _, children := range []map[int]*Group{t.leaders, t.orphans} {
		for pid, owner := range children {
			if owner != g {
				continue
			}
			if p, err := stat(pid); err == nil {
				roots = append(roots, p)
			}
		}
	}
	return roots
}
