package process

import (
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
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
	becomeSubreaper()
	r := &reaper{
		guardian: guardian,
		groups:   make(map[mark]*Group),
		leaders:  make(map[int]*Group),
		orphans:  make(map[int]*Group),
	}
	r.strays = newGroup(r, 0) // counts one child that does not exist, until endStrays
	return r
}

// start starts a group's leader.
func (r *reaper) start(g *Group, spec Spec) error {
	r.starting.Lock()
	defer r.starting.Unlock()
	g.Started = time.Now()
	pid, pidfd, err := fork(spec, g.mark)
	if err != nil {
		return err
	}
	g.PID = pid
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.mark], r.leaders[pid] = g, g
	r.followLocked(pid, pidfd, g)
	return nil
}

// followLocked sees to a new child, which belongs to g. The pidfd may be -1.
func (r *reaper) followLocked(pid, pidfd int, g *Group) {
	p, _ := stat(pid)
	p.pid = pid
	r.guardian.begun(p)
	go func() {
		awaitChild(pid, pidfd)
		r.sweep()
		r.bury(p, g)
		awaitRest(g)
		r.release(p, g)
	}()
}

// bury reaps a child that has ended.
func (r *reaper) bury(p info, g *Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := wait(p.pid)
	delete(r.orphans, p.pid)
	if r.leaders[p.pid] == g {
		delete(r.leaders, p.pid)
		g.status = status
		close(g.exited)
	}
}

// release takes note that a group has one child less.
func (r *reaper) release(p info, g *Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guardian.ended(p)
	if g.children--; g.children == 0 && !isClosed(g.gone) { // strays may come again
		delete(r.groups, g.mark)
		close(g.gone)
	}
}

// sweep adopts the orphans that have come. Called when a child has ended and is
// not reaped yet, it finds all that this child leaves behind.
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
	r.followLocked(pid, -1, g)
}

// roots lists the children of this process that belong to g.
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

// all lists the groups of which something lives.
func (r *reaper) all() []*Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.groups))
}

// endStrays ends what belongs to no group. It reports whether nothing is left.
func (r *reaper) endStrays() bool {
	r.sweep()
	r.release(info{}, r.strays) // from now on they are gone when the last one is
	return r.strays.End(syscall.SIGKILL, 0)
}
