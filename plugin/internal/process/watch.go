package process

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bashplugin/shared"
)

const (
	// The time between two polls is pollEach for each process far from its limits, which
	// is a hundred times what it takes to look at one, within these bounds.
	pollEach, pollLeast, pollMost = 7 * time.Millisecond, 100 * time.Millisecond, time.Second
	// glance is how often the threads on the machine are counted, to notice fork bombs.
	glance = 20 * time.Millisecond
)

// watches are the groups that are watched.
type watches struct {
	mu   sync.Mutex // guards the fields below; never held for long
	all  []*watch
	live bool // watch runs
}

// watch follows what one group uses.
type watch struct {
	group  *Group
	limits shared.Resources
	look   func(shared.Usage) bool
	braked atomic.Bool // since the last poll began
	over   atomic.Bool

	rss, pss int64     // its memory when pss was last read: summed over the processes, and with shared memory counted once
	rest     time.Time // when pss may be read again
}

// Watch calls look with what the group uses now, at each poll, until the group is gone or
// look returns false, which kills the group. look must not block.
func (g *Group) Watch(limits shared.Resources, look func(shared.Usage) bool) {
	w := &g.table.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all = append(w.all, &watch{group: g, limits: limits, look: look}); !w.live {
		w.live = true
		go g.table.watch()
	}
}

// list returns what is watched still, and the lowest limit on processes. If nothing is, the
// caller of the last list ends.
func (w *watches) list(last bool) (all []*watch, room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = slices.DeleteFunc(w.all, func(w *watch) bool { return w.over.Load() || isClosed(w.group.gone) })
	w.live, room = !last || len(w.all) > 0, math.MaxInt
	for _, one := range w.all {
		room = min(room, cmp.Or(one.limits.Processes, room))
	}
	return slices.Clone(w.all), room
}

// watch polls the groups that are watched, until there is none. During a poll too it
// notices many new threads: a fork bomb would outrun the poll.
func (t *Table) watch() {
	for {
		threads := threadsOfAll()
		all, room := t.watches.list(true)
		if len(all) == 0 {
			return
		}
		step := pollLeast
		if room < math.MaxInt {
			step = glance
		}
		polled := make(chan time.Duration, 1)
		go func() { polled <- t.poll(all) }()
		pause := time.Duration(-1) // until polled
		for waited := time.Duration(0); pause < 0 || waited < pause; waited += step {
			select {
			case pause = <-polled:
				waited = -step // the waiting begins
			case <-time.After(step):
			case <-t.quit:
				return
			}
			now, room := t.watches.list(false)
			if threadsOfAll()-threads <= room {
				continue
			}
			for _, w := range now {
				w.brake()
			}
			if pause < 0 {
				<-polled
			}
			break
		}
	}
}

// poll looks at all groups once, and returns when the next look is due.
func (t *Table) poll(all []*watch) time.Duration {
	var groups []*Group
	used := make(map[*watch]shared.Usage)
	t.mu.Lock()
	for _, w := range all { // first, and then parents before children: no time counts twice that is reaped meanwhile
		groups, used[w] = append(groups, w.group), shared.Usage{CPU: w.group.reaped.CPU}
	}
	t.mu.Unlock()
	looks, roots := 0, t.roots(groups...)
	for _, w := range all {
		stopped := w.braked.Swap(false)
		if stopped {
			roots[w.group] = t.roots(w.group)[w.group]
		}
		looks += w.poll(used[w], withZombies(roots[w.group]), stopped)
	}
	return min(max(pollLeast, time.Duration(looks)*pollEach), pollMost)
}

// brake stops the command's process group until the next poll has counted it.
func (w *watch) brake() {
	has := func(pid int) bool { // then the number of the group was not reused
		pgrp, err := syscall.Getpgid(pid)
		return err == nil && pgrp == w.group.PID
	}
	if w.limits.Processes > 0 && (w.group.LeaderLives() || slices.ContainsFunc(adopted(w.group.table.forker.id), has)) {
		_ = syscall.Kill(-w.group.PID, syscall.SIGSTOP)
		w.braked.Store(true)
	}
}

// poll looks at the group's members. It returns how many they are, 0 if near a limit.
func (w *watch) poll(now shared.Usage, members []info, stopped bool) int {
	for _, p := range members {
		now.CPU += p.cpu
		now.MaxMemory += p.rss
	}
	if now.MaxProcesses = len(members); now.MaxProcesses > 1 {
		now.MaxMemory = w.unshared(members, now.MaxMemory)
	}
	w.group.table.mu.Lock()
	w.group.seen = w.group.seen.Max(now)
	w.group.table.mu.Unlock()
	if !w.look(now) {
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

// unshared returns how much memory the members have, where shared memory, which rss counts
// for each, counts once. To read that takes as long as the memory is large. So it does
// that if they may be past the limit, or at times if they have a tenth more than before.
func (w *watch) unshared(members []info, rss int64) int64 {
	memory := min(rss, w.pss+max(0, rss-w.rss))
	isPast := func(memory int64) bool { return w.limits.Memory > 0 && memory > w.limits.Memory }
	if !isPast(memory) && (rss <= w.rss+w.rss/10 && !isPast(rss) || time.Now().Before(w.rest)) {
		return min(memory, w.pss+w.pss/10) // most of what has come may be shared
	}
	begin := time.Now()
	w.rss, w.pss = rss, 0
	for _, p := range members {
		w.pss += pss(p)
	}
	w.rest = time.Now().Add(10 * time.Since(begin))
	return w.pss
}
