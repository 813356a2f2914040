package process

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// reaper knows the children of this process: the leaders, which it started, and
// the orphans, which the kernel gave it. It reaps each of them, and nothing
// else does.
type reaper struct {
	guardian *Guardian
	strays   *Group // the orphans without the mark of a group

	starting sync.Mutex // held from a fork until the child is in leaders; taken before mu

	mu      sync.Mutex      // guards what follows and the groups' children; a child is reaped under it only
	groups  map[mark]*Group // until nothing of them lives
	leaders map[int]*Group  // by pid, until they are reaped
	orphans map[int]*Group  // by pid, until they are reaped
}

func newReaper(guardian *Guardian) *reaper {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // fails on no kernel that this package runs on
	r := &reaper{
		guardian: guardian,
		groups:   make(map[mark]*Group),
		leaders:  make(map[int]*Group),
		orphans:  make(map[int]*Group),
	}
	r.strays = newGroup(r, 0) // its one child, until endStrays, is none: it is not gone before
	return r
}

// start starts a group's leader.
func (r *reaper) start(g *Group, spec Spec) (pidfd int, err error) {
	r.starting.Lock()
	defer r.starting.Unlock()
	g.Started = time.Now()
	g.PID, pidfd, err = fork(spec, g.mark)
	if err != nil {
		return -1, err
	}
	p, _ := stat(g.PID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.mark], r.leaders[g.PID] = g, g
	r.guardian.begun(g.PID, p.start)
	return pidfd, nil
}

// follow waits for a leader's end.
func (r *reaper) follow(g *Group, pidfd int) { r.bury(g.PID, pidfd, g) }

// bury waits for the end of a child that belongs to g, adopts what it leaves
// behind, and reaps it. The pidfd may be -1.
func (r *reaper) bury(pid, pidfd int, g *Group) {
	awaitChild(pid, pidfd)
	r.sweep()
	r.mu.Lock()
	defer r.mu.Unlock()
	status := wait(pid)
	r.guardian.ended(pid)
	if r.leaders[pid] == g {
		delete(r.leaders, pid)
		g.status = status
		close(g.exited)
	} else {
		delete(r.orphans, pid)
	}
	r.releaseLocked(g)
}

// releaseLocked takes note that a group has one child less.
func (r *reaper) releaseLocked(g *Group) {
	if g.children--; g.children == 0 && !isClosed(g.gone) { // strays may come again
		delete(r.groups, g.mark)
		close(g.gone)
	}
}

// sweep adopts the orphans that have come. Called when a child has ended and is
// not reaped yet, it finds each of that one's children.
func (r *reaper) sweep() {
	if !r.hasNews() {
		return
	}
	r.starting.Lock() // or else a leader that is not in leaders yet would pass for an orphan
	defer r.starting.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range r.newsLocked() {
		r.adoptLocked(pid)
	}
}

func (r *reaper) hasNews() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.newsLocked()) > 0
}

// newsLocked lists the children that are neither leaders nor orphans yet.
func (r *reaper) newsLocked() []int {
	return slices.DeleteFunc(adopted(), func(pid int) bool {
		return r.leaders[pid] != nil || r.orphans[pid] != nil || r.guardian.is(pid)
	})
}

func (r *reaper) adoptLocked(pid int) {
	g := r.groups[markOf(pid)]
	if g == nil {
		g = r.strays
	}
	r.orphans[pid] = g
	g.children++
	p, _ := stat(pid)
	r.guardian.begun(pid, p.start)
	go r.bury(pid, -1, g)
}

// roots lists the children of this process that belong to g. All of g descends
// from them.
func (r *reaper) roots(g *Group) []info {
	r.sweep()
	r.mu.Lock()
	defer r.mu.Unlock()
	var roots []info
	add := func(pid int) {
		if p, err := stat(pid); err == nil {
			roots = append(roots, p)
		}
	}
	if r.leaders[g.PID] == g {
		add(g.PID)
	}
	for pid, owner := range r.orphans {
		if owner == g {
			add(pid)
		}
	}
	return roots
}

// members lists the live processes of a group, parents before children.
func (r *reaper) members(g *Group) []info { return below(r.roots(g)) }

// all lists the groups of which something lives.
func (r *reaper) all() []*Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.groups))
}

// endStrays ends what belongs to no group. It reports whether nothing is left.
func (r *reaper) endStrays() bool {
	r.sweep()
	r.mu.Lock()
	r.releaseLocked(r.strays)
	r.mu.Unlock()
	return r.strays.End(unix.SIGKILL, 0)
}
