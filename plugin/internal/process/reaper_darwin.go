package process

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// reaper reaps the leaders. Orphans go to launchd: it adopts none.
type reaper struct {
	guardian *Guardian

	mu     sync.Mutex      // guards groups
	groups map[*Group]bool // those of which something lives; true until the leader is reaped
}

func newReaper(guardian *Guardian) *reaper {
	return &reaper{guardian: guardian, groups: make(map[*Group]bool)}
}

// start starts a group's leader.
func (r *reaper) start(g *Group, spec Spec) (pidfd int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.Started = time.Now()
	if g.PID, pidfd, err = fork(spec, g.mark); err != nil {
		return -1, err
	}
	r.groups[g] = true
	p, _ := stat(g.PID)
	r.guardian.begun(g.PID, p.start)
	return pidfd, nil
}

// follow waits for a leader's end and then for that of the rest.
func (r *reaper) follow(g *Group, _ int) {
	g.status = wait(g.PID)
	r.mu.Lock()
	r.groups[g] = false
	r.mu.Unlock()
	close(g.exited)
	for members := r.members(g); len(members) > 0; members = r.members(g) {
		awaitExit(members[0])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.groups, g)
	r.guardian.ended(g.PID)
	close(g.gone)
}

// members lists the live processes of a group, parents before children.
func (r *reaper) members(g *Group) []info {
	all := list()
	r.mu.Lock()
	leads, lives := r.groups[g]
	r.mu.Unlock()
	leader, taken := all[g.PID]
	if !lives || taken && (!leads || leader.ppid != os.Getpid()) {
		return nil // the number was reused, so that the process group is empty
	}
	tree := newTree(all)
	tree.take(g.PID)
	for pid, p := range all {
		if p.pgrp == g.PID {
			tree.take(pid)
		}
	}
	return tree.taken
}

// all lists the groups of which something lives.
func (r *reaper) all() []*Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.groups))
}

func (r *reaper) roots(*Group) []info { return nil }

func (r *reaper) sweep() {}

func (r *reaper) endStrays() bool { return true }
