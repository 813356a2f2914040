package process

import (
	"cmp"
	"maps"
	"os/signal"
	"slices"
	"syscall"
)

// run reaps children as they end, until Close. Nothing else reaps.
func (t *Table) run() {
	defer signal.Stop(t.ends)
	for {
		select {
		case <-t.ends:
			t.bury()
		case <-t.quit:
			return
		}
	}
}

// bury reaps the children that have ended.
func (t *Table) bury() {
	t.Sweep() // an orphan may have ended before it was adopted
	t.mu.Lock()
	children := slices.AppendSeq(slices.Collect(maps.Keys(t.leaders)), maps.Keys(t.orphans))
	ended := slices.DeleteFunc(children, func(pid int) bool { return !hasEnded(pid) })
	t.mu.Unlock()
	if len(ended) == 0 {
		return
	}
	t.Sweep() // adopts their children; only now may they be reaped
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range ended {
		t.reapLocked(pid)
	}
}

// lookAgain makes run look for children that have ended.
func (t *Table) lookAgain() {
	select {
	case t.ends <- syscall.SIGCHLD:
	default:
	}
}

func (t *Table) reapLocked(pid int) {
	status := wait(pid)
	if g := t.orphans[pid]; g != nil {
		delete(t.orphans, pid)
		t.guardian.ended(pid)
		t.releaseLocked(g)
		return
	}
	g := t.leaders[pid]
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
	t.lookAgain() // it may have ended already
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
