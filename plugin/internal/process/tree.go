package process

// info is what the system tells of a process.
type info struct {
	pid, ppid, pgrp int
	start           uint64 // with the pid it names a process for good
	dead            bool   // it has ended and waits to be reaped
	ending          bool   // it is about to be dead; false where the system does not tell
	forked          bool   // it is at work and has executed nothing yet; false where the system does not tell
}

// tree is the processes of one moment, by their parents.
type tree struct {
	all      map[int]info
	children map[int][]int
	seen     map[int]bool
	taken    []info
}

func newTree(all map[int]info) *tree {
	t := &tree{all: all, children: make(map[int][]int, len(all)), seen: make(map[int]bool)}
	for pid, p := range all {
		t.children[p.ppid] = append(t.children[p.ppid], pid)
	}
	return t
}

// leave makes take leave pid and its descendants out.
func (t *tree) leave(pid int) { t.seen[pid] = true }

// take takes pid and its descendants, the live ones into taken.
func (t *tree) take(pid int) {
	p, ok := t.all[pid]
	if !ok || t.seen[pid] {
		return
	}
	t.seen[pid] = true
	if !p.dead {
		t.taken = append(t.taken, p)
	}
	for _, child := range t.children[pid] {
		t.take(child)
	}
}
