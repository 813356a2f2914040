package process

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bashplugin/shared"
)

// The time between two polls is pollEach for each process far from its limits, which is a
// hundred times what it takes to look at one, but at least pollLeast and at most pollMost.
const (
	pollEach  = 7 * time.Millisecond
	pollLeast = 100 * time.Millisecond
	pollMost  = time.Second
)

// glance is how often the threads on the machine are counted, to notice fork bombs.
const glance = 20 * time.Millisecond

// watches are the groups that are watched.
type watches struct {
	mu   sync.Mutex // never held for long
	all  []*watch
	live bool // Table.watch runs
}

// watch follows what one group uses.
type watch struct {
	group  *Group
	limits shared.Resources
	look   func(shared.Usage) bool
	over   atomic.Bool // look has returned false

	// braked says that the process group was stopped since the last poll began.
	braked atomic.Bool

	memory memory
}

// memory measures how much memory a group has. Only the goroutine that polls uses it.
type memory struct {
	limit int64 // 0: none

	// rss and pss are what the last look has found: the sum over the processes, and the same
	// with shared memory counted once.
	rss int64
	pss int64

	// rest is when the next look may begin.
	rest time.Time
}

// Watch calls look with what the group uses now, at each poll, until the group is gone or
// look returns false, which kills the group. look must not block.
func (g *Group) Watch(limits shared.Resources, look func(shared.Usage) bool) {
	ws := &g.table.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := &watch{group: g, limits: limits, look: look, memory: memory{limit: limits.Memory}}
	ws.all = append(ws.all, w)
	if !ws.live {
		ws.live = true
		go g.table.watch()
	}
}

// next returns what is to be polled next, and the lowest limit on processes. If it returns
// none, the goroutine that called it must end.
func (ws *watches) next() (all []*watch, room int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	all, room = ws.listLocked()
	ws.live = len(all) > 0
	return all, room
}

// list returns what is watched still, and the lowest limit on processes.
func (ws *watches) list() (all []*watch, room int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.listLocked()
}

func (ws *watches) listLocked() (all []*watch, room int) {
	ws.all = slices.DeleteFunc(ws.all, func(w *watch) bool { return w.over.Load() || isClosed(w.group.gone) })
	room = math.MaxInt
	for _, w := range ws.all {
		if w.limits.Processes != 0 {
			room = min(room, w.limits.Processes)
		}
	}
	return slices.Clone(ws.all), room
}

// watch polls the groups that are watched, until there is none.
func (t *Table) watch() {
	for {
		threads := threadsOfAll()
		all, room := t.watches.next()
		if len(all) == 0 {
			return
		}
		step := pollLeast
		if room < math.MaxInt {
			step = glance
		}
		polled := make(chan time.Duration, 1)
		go func() { polled <- t.poll(all) }()
		isOpen := t.awaitNext(polled, threads, step)
		if !isOpen {
			return
		}
	}
}

// awaitNext waits for the end of a poll and for the pause after it, and counts the machine's
// threads at each step. If there are many more than before, it brakes all watched groups and
// waits for the end of the poll alone: a fork bomb would outrun the polls. It returns false
// once the table is closed.
func (t *Table) awaitNext(polled <-chan time.Duration, before int, step time.Duration) bool {
	isPolling := true
	var pause time.Duration // what is left of it
	for isPolling || pause > 0 {
		select {
		case pause = <-polled:
			isPolling = false
		case <-time.After(step):
			pause -= step
		case <-t.quit:
			return false
		}
		all, room := t.watches.list()
		if threadsOfAll()-before <= room {
			continue
		}
		for _, w := range all {
			w.brake()
		}
		if isPolling {
			<-polled
		}
		return true
	}
	return true
}

// poll looks at all groups once, and returns when the next look is due.
func (t *Table) poll(all []*watch) time.Duration {
	// What is reaped meanwhile must not count twice. So this comes before the processes are
	// listed, and parents are listed before their children.
	used, groups := t.reapedOf(all)
	roots := t.roots(groups...)
	looks := 0
	for i, w := range all {
		stopped := w.braked.Swap(false)
		if stopped {
			roots[w.group] = t.roots(w.group)[w.group]
		}
		looks += w.poll(used[i], withZombies(roots[w.group]), stopped)
	}
	return min(max(pollLeast, time.Duration(looks)*pollEach), pollMost)
}

// reapedOf returns the groups that are watched, and the processor time of the reaped processes
// of each.
func (t *Table) reapedOf(all []*watch) (used []time.Duration, groups []*Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range all {
		used = append(used, w.group.reaped.CPU)
		groups = append(groups, w.group)
	}
	return used, groups
}

// brake stops the command's process group until the next poll has counted it.
func (w *watch) brake() {
	if w.limits.Processes > 0 && w.ownsProcessGroup() {
		_ = syscall.Kill(-w.group.PID, syscall.SIGSTOP)
		w.braked.Store(true)
	}
}

// ownsProcessGroup reports whether the leader's process group has still a process, so that
// its number was not reused.
func (w *watch) ownsProcessGroup() bool {
	if w.group.LeaderLives() {
		return true
	}
	isIn := func(pid int) bool {
		pgrp, err := syscall.Getpgid(pid)
		return err == nil && pgrp == w.group.PID
	}
	return slices.ContainsFunc(adopted(w.group.table.forker.id), isIn)
}

// poll looks at the group's members, whose reaped processes have used some processor time. It
// returns how many members there are, 0 if they are near a limit.
func (w *watch) poll(reaped time.Duration, members []info, stopped bool) int {
	now := shared.Usage{CPU: reaped, MaxProcesses: len(members)}
	for _, p := range members {
		now.CPU += p.cpu
		now.MaxMemory += p.rss
	}
	if len(members) > 1 {
		now.MaxMemory = w.memory.measure(members, now.MaxMemory)
	}
	w.group.saw(now)
	isWithin := w.look(now)
	if !isWithin {
		w.over.Store(true)
		sendGroups(members, syscall.Getpgrp(), syscall.SIGKILL)
	} else if stopped {
		sendGroups(members, syscall.Getpgrp(), syscall.SIGCONT)
	}
	if w.limits.Memory > 0 && now.MaxMemory > w.limits.Memory/2 {
		return 0
	}
	return len(members)
}

// saw records what the group uses now.
func (g *Group) saw(now shared.Usage) {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	g.seen = g.seen.Max(now)
}

// measure returns the members' memory, counting shared pages once. rss is the sum over the
// members, which counts such pages for each. To look takes the longer the more memory there is:
// if it need not look, measure returns an estimate.
func (m *memory) measure(members []info, rss int64) int64 {
	most := min(rss, m.pss+max(0, rss-m.rss)) // if nothing that was added is shared
	if !m.mustLook(most, rss) {
		return min(most, m.pss+m.pss/10) // much of what was added may be shared
	}
	begin := time.Now()
	m.rss = rss
	m.pss = 0
	for _, p := range members {
		m.pss += pss(p)
	}
	m.rest = time.Now().Add(10 * time.Since(begin))
	return m.pss
}

// mustLook reports whether the members may be past the limit, or have a tenth more than at the
// last look. Before rest it returns true only if most, the most that they can have, is past
// the limit.
func (m *memory) mustLook(most, rss int64) bool {
	if m.isPast(most) {
		return true
	}
	if time.Now().Before(m.rest) {
		return false
	}
	return m.isPast(rss) || rss > m.rss+m.rss/10
}

// isPast reports whether an amount is more than the limit.
func (m *memory) isPast(amount int64) bool { return m.limit > 0 && amount > m.limit }
