package process

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"bashplugin/shared"
)

const (
	// The time between two polls is pollEach for each process far from its limits, which
	// is a hundred times what it takes to look at one, within these bounds.
	pollEach, pollLeast, pollMost = 3 * time.Millisecond, 100 * time.Millisecond, time.Second
	// glance is how often the threads on the machine are counted, to notice fork bombs.
	glance = 20 * time.Millisecond
)

// watch follows what one group uses.
type watch struct {
	group   *Group
	limits  shared.Resources
	look    func(shared.Usage) bool
	stopped atomic.Bool // by brake, since the last poll began
	over    bool

	rss, pss int64     // its memory when pss was last read: summed over the processes, and with shared memory counted once
	rest     time.Time // when pss may be read again
}

// Watch calls look with what the group uses now, at each poll, until the group is gone or
// look returns false, which kills the group. look must not block.
func (g *Group) Watch(limits shared.Resources, look func(shared.Usage) bool) {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	g.table.watches = append(g.table.watches, &watch{group: g, limits: limits, look: look})
	if len(g.table.watches) == 1 {
		go g.table.watch()
	}
}

// watch polls the groups that are watched, until there is none. It also notices many new
// threads, during a poll too: a fork bomb would outrun it.
func (t *Table) watch() {
	for {
		threads, room := threadsOfAll(), math.MaxInt
		t.mu.Lock()
		t.watches = slices.DeleteFunc(t.watches, func(w *watch) bool { return w.over || isClosed(w.group.gone) })
		watches := slices.Clone(t.watches)
		t.mu.Unlock()
		if len(watches) == 0 || isClosed(t.quit) {
			return
		}
		polled := make(chan time.Duration, 1)
		go func() {
			looks := 0
			for _, w := range watches {
				looks += w.poll()
			}
			polled <- min(max(pollLeast, time.Duration(looks)*pollEach), pollMost)
		}()
		for _, w := range watches {
			room = min(room, cmp.Or(w.limits.Processes, room))
		}
		pause := time.Duration(-1) // until polled
		for left := glance; pause < 0 || left < pause; left += glance {
			select {
			case pause = <-polled:
				left = 0
			case <-time.After(glance):
			}
			if threadsOfAll()-threads <= room {
				continue
			}
			for _, w := range watches {
				w.brake()
			}
			if pause < 0 {
				<-polled
			}
			break
		}
	}
}

// brake stops the command's process group until the next poll has counted it.
func (w *watch) brake() {
	has := func(pid int) bool { // then the number of the group was not reused
		pgrp, err := syscall.Getpgid(pid)
		return err == nil && pgrp == w.group.PID
	}
	if w.limits.Processes > 0 && (w.group.LeaderLives() || slices.ContainsFunc(adopted(), has)) {
		_ = syscall.Kill(-w.group.PID, syscall.SIGSTOP)
		w.stopped.Store(true)
	}
}

// poll looks at the group. It returns at how many processes, 0 if they are near a limit.
func (w *watch) poll() int {
	stopped, t := w.stopped.Swap(false), w.group.table
	t.mu.Lock()
	now := shared.Usage{CPU: w.group.reaped.CPU} // first, and then parents before children: nothing counts twice that is reaped meanwhile
	t.mu.Unlock()
	members := w.group.members()
	for _, p := range members {
		now.CPU += p.cpu
		now.MaxMemory += p.rss
	}
	if now.MaxProcesses = len(members); now.MaxProcesses > 1 {
		now.MaxMemory = w.unshared(members, now.MaxMemory)
	}
	t.mu.Lock()
	w.group.seen = w.group.seen.Max(now)
	t.mu.Unlock()
	if w.over = !w.look(now); w.over {
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
// for each, counts once. To read that takes as long as the memory is large. So it does if
// they may be past the limit or have a tenth more than the last time, and takes what has
// come in between for not shared.
func (w *watch) unshared(members []info, rss int64) int64 {
	memory := min(rss, w.pss+max(0, rss-w.rss))
	isPast := func(memory int64) bool { return w.limits.Memory > 0 && memory > w.limits.Memory }
	if !isPast(memory) && (rss <= w.rss+w.rss/10 && !isPast(rss) || time.Now().Before(w.rest)) {
		return memory
	}
	begin := time.Now()
	w.rss, w.pss = rss, 0
	for _, p := range members {
		w.pss += pss(p)
	}
	w.rest = time.Now().Add(10 * time.Since(begin))
	return w.pss
}
