package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper does nothing: all orphans go to launchd.
func becomeSubreaper() {}

const maxrssUnit = 1 // of Rusage.Maxrss

func ownPeak() int64 { return 0 }

// releaseLeaderLocked is called when a leader is reaped. It has to watch the other
// members, because they are not children of this process.
func (t *Table) releaseLeaderLocked(g *Group) {
	go func() {
		members := g.members()
		for len(members) > 0 {
			awaitEnd(members[0].pid)
			members = g.members()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.releaseLocked(g)
	}()
}

// hasEnded reports whether a child that is not reaped has ended.
func hasEnded(pid int) bool {
	p, err := stat(pid)
	return err != nil || p.dead
}

// awaitEnd waits for the end of a process, which need not be a child. It may return
// too early.
func awaitEnd(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		time.Sleep(10 * time.Millisecond) // there may be too many open files
		return
	}
	defer unix.Close(queue)
	end := unix.Kevent_t{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD, Fflags: unix.NOTE_EXIT}
	_, _ = unix.Kevent(queue, []unix.Kevent_t{end}, make([]unix.Kevent_t, 1), nil)
}
