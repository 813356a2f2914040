package process

import "slices"

// orphan is a process that lost its parent and became this process's child.
type orphan struct {
	info
	group *Group // nil: nothing tells
	slot  int    // in the table's record
}

// orphansOf lists the orphans of a group, after a sweep.
func (t *Table) orphansOf(g *Group) []info {
	t.Sweep()
	t.mu.Lock()
	defer t.mu.Unlock()
	var orphans []info
	for _, o := range t.orphans {
		if o.group == g {
			orphans = append(orphans, o.info)
		}
	}
	return orphans
}

// Sweep takes up orphans that have come since. It is cheap where there are
// none. Called when a process has ended and is not yet reaped, it finds each
// of its children: no process is ever in between.
func (t *Table) Sweep() {
	if !t.adopts || !t.hasNews() {
		return
	}
	t.fork.Lock()
	defer t.fork.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range t.news() {
		t.adopt(pid)
	}
}

func (t *Table) hasNews() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.news()) > 0
}

// news lists the orphans that are not taken up yet, and whatever is about to
// be registered as a leader. mu is held: while the list is read nothing may be
// reaped.
func (t *Table) news() []int {
	return slices.DeleteFunc(adopted(), func(pid int) bool {
		leader := t.leaders[pid]
		return leader != nil && !leader.reaped || t.orphans[pid] != nil || t.record.isGuardian(pid)
	})
}

// adopt takes up one orphan. mu is held.
func (t *Table) adopt(pid int) {
	p, err := stat(pid)
	if err != nil {
		return
	}
	o := &orphan{info: p, group: t.owner(p)}
	t.orphans[pid] = o
	if o.group != nil {
		o.group.orphans++
	}
	o.slot = t.record.add(pid, p.start)
	go t.bury(o)
}

// bury waits for an orphan's end and reaps it.
func (t *Table) bury(o *orphan) {
	awaitExit(o.info)
	t.Sweep() // its children
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record.remove(o.slot)
	delete(t.orphans, o.pid)
	reap(o.pid)
	if g := o.group; g != nil {
		if g.orphans--; g.orphans == 0 && g.reaped {
			t.remove(g)
		}
	}
}

// owner finds the group of an orphan, by what it has inherited or by the
// members seen before. mu is held.
func (t *Table) owner(p info) *Group {
	mark, token := markOf(p.pid), ""
	marked := sessionOf(mark) == t.session
	if !marked {
		token = environment(p.pid, TokenName)
	}
	for g := range t.groups {
		if mark == g.mark || g.knows(p) || inToken(token, g.token) {
			return g
		}
	}
	if g := t.leads(p.session, exists); g != nil {
		return g
	}
	if g := t.leads(p.pgrp, exists); g != nil || marked {
		return g
	}
	// A login, as of "su -", takes mark and environment off.
	if g := t.writesTo(p); g != nil {
		return g
	}
	return t.only(p)
}

// writesTo returns the group whose output a process has open. mu is held.
func (t *Table) writesTo(p info) *Group {
	pipes := openPipes(p.pid)
	for g := range t.groups {
		if slices.ContainsFunc(pipes, func(pipe uint64) bool { return pipe == g.output[0] || pipe == g.output[1] }) {
			return g
		}
	}
	return nil
}

// only returns the group that an orphan must be of because there is no other,
// if that is so. mu is held.
func (t *Table) only(p info) *Group {
	for _, o := range t.orphans {
		if o.group == nil {
			return nil // it may come from this one
		}
	}
	if len(t.groups) != 1 {
		return nil
	}
	for g := range t.groups {
		if p.start >= g.start {
			return g
		}
	}
	return nil
}
