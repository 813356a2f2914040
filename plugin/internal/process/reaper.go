package process

import (
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// reaper knows the children of this process: the leaders, which it started, and
// the orphans, which the kernel gave it. It reaps each of them.
type reaper struct {
	guardian *Guardian
	strays   *Group         // the orphans without the mark of a group
	ends     chan os.Signal // SIGCHLD: one or more children may have ended
	quit     chan struct{}  // closed by close

	starting sync.Mutex // held from a fork until the child is in leaders; taken before mu

	mu      sync.Mutex      // guards what follows and the groups' children; held while a child is reaped
	groups  map[mark]*Group // until nothing of them lives
	leaders map[int]*Group  // by pid, until they are reaped
	orphans map[int]*Group  // by pid, until they are reaped
}

func newReaper(guardian *Guardian) *reaper {
	becomeSubreaper()
	r := &reaper{
		guardian: guardian,
		ends:     make(chan os.Signal, 1),
		quit:     make(chan struct{}),
		groups:   make(map[mark]*Group),
		leaders:  make(map[int]*Group),
		orphans:  make(map[int]*Group),
	}
	r.strays = newGroup(r, 0) // counts one child that does not exist, until close
	go r.run()
	return r
}

// start starts a group's leader.
func (r *reaper) start(g *Group, spec Spec) error {
	r.starting.Lock()
	defer r.starting.Unlock()
	g.Started = time.Now()
	pid, err := fork(spec, g.mark)
	if err != nil {
		return err
	}
	g.PID = pid
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.mark], r.leaders[pid] = g, g
	p, _ := stat(pid)
	r.guardian.begun(p)
	select {
	case r.ends <- syscall.SIGCHLD: // it may have ended before it was in leaders
	default:
	}
	return nil
}

// run reaps children as they end, until close. Nothing else reaps.
func (r *reaper) run() {
	signal.Notify(r.ends, syscall.SIGCHLD)
	defer signal.Stop(r.ends)
	for {
		select {
		case <-r.ends:
			for r.bury() {
			}
		case <-r.quit:
			return
		}
	}
}

// bury reaps the children that have ended, and reports whether there were some.
func (r *reaper) bury() bool {
	r.sweep() // an orphan may have ended before it came
	r.mu.Lock()
	ended := slices.DeleteFunc(r.childrenLocked(), func(pid int) bool { return !hasEnded(pid) })
	r.mu.Unlock()
	r.sweep() // adopts their children; only now may they be reaped
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range ended {
		r.reapLocked(pid)
	}
	return len(ended) > 0
}

func (r *reaper) childrenLocked() []int {
	return slices.AppendSeq(slices.Collect(maps.Keys(r.leaders)), maps.Keys(r.orphans))
}

func (r *reaper) reapLocked(pid int) {
	p, _ := stat(pid)
	status := wait(pid)
	if g := r.orphans[pid]; g != nil {
		delete(r.orphans, pid)
		r.releaseLocked(p, g)
		return
	}
	g := r.leaders[pid]
	delete(r.leaders, pid)
	g.status = status
	close(g.exited)
	r.releaseLeaderLocked(p, g)
}

// releaseLocked takes note that a group has one child less.
func (r *reaper) releaseLocked(p info, g *Group) {
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
	p, _ := stat(pid)
	r.guardian.begun(p)
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

// close ends what belongs to no group, and the reaper. It reports whether nothing
// is left.
func (r *reaper) close() bool {
	r.sweep()
	r.mu.Lock()
	r.releaseLocked(info{}, r.strays) // from now on they are gone when the last one is
	r.mu.Unlock()
	defer close(r.quit)
	return r.strays.End(syscall.SIGKILL, 0)
}
