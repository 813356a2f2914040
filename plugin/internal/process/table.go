package process

import (
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// Table holds the groups of a plugin, those of all its sessions, and the children of this
// process: the leaders, which it started, and the orphans, which the kernel gave it. It is
// safe for concurrent use. A process has one Table, and its main thread starts no child:
// all children of that thread are orphans.
type Table struct {
	guardian *Guardian
	strays   *Group         // the orphans without the tag of a group
	ends     chan os.Signal // SIGCHLD: orphans may have ended
	quit     chan struct{}  // closed by Close

	forker  *thread    // forks what is not restricted
	forking sync.Mutex // held from a fork until the end of its exec; taken before mu
	id      pluginID
	started uint32 // how many commands, so far

	mu      sync.Mutex     // guards the fields below and the groups' children; held while a child is reaped
	groups  map[tag]*Group // until none of their processes lives
	leaders map[int]*Group // by pid, until they are reaped
	orphans map[int]*Group // by pid, until they are reaped
	begins  bool           // a fork is under way: its child is no orphan
	peak    int64          // the most memory that this process has had, as far as it was needed

	watches watches
}

// NewTable makes this process the parent of all orphans among its descendants, if
// the system can do that. The guardian may be nil.
func NewTable(guardian *Guardian) *Table {
	becomeSubreaper()
	t := &Table{
		guardian: guardian,
		ends:     make(chan os.Signal, 1),
		quit:     make(chan struct{}),
		forker:   newThread(),
		id:       newPluginID(),
		groups:   make(map[tag]*Group),
		leaders:  make(map[int]*Group),
		orphans:  make(map[int]*Group),
	}
	if guardian != nil {
		t.id = guardian.id
	}
	t.strays = newGroup(t, 0)              // until Close it counts a child that does not exist, so as not to be gone
	signal.Notify(t.ends, syscall.SIGCHLD) // before the first child
	go t.reapOrphans()
	return t
}

// Start starts a command as the leader of a new session.
func (t *Table) Start(spec Spec) (*Group, error) {
	t.forking.Lock()
	defer t.forking.Unlock()
	t.started++
	g := newGroup(t, t.id.tag(t.started))
	g.peers = spec.Peers
	t.mu.Lock()
	t.groups[g.tag] = g // its orphans may come before fork returns
	t.begins = true
	t.mu.Unlock()
	pid := 0
	defer func() { // after a panic, too
		t.mu.Lock()
		defer t.mu.Unlock()
		t.begins = false
		if pid == 0 {
			t.releaseLocked(g)
		} else {
			t.leadLocked(g, pid)
		}
	}()
	started, err := fork(spec, g.tag, t.forker)
	if err != nil {
		return nil, err
	}
	pid = started
	return g, nil
}

// leadLocked makes a new child the leader of g.
func (t *Table) leadLocked(g *Group, pid int) {
	g.PID = pid
	t.leaders[pid] = g
	g.hold()
	t.guardian.begun(pid)
	go t.reapLeader(g)
}

// Close kills every group that is left, and then every stray. It returns false if a
// process is left. It must be called only once.
func (t *Table) Close() bool {
	defer close(t.quit)
	defer t.forker.close()
	t.mu.Lock()
	groups := slices.Collect(maps.Values(t.groups))
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, g := range groups {
		wg.Go(func() { g.End(syscall.SIGKILL, 0) })
	}
	wg.Wait()
	t.mu.Lock()
	t.sweepLocked()
	t.releaseLocked(t.strays) // from now on the group is gone when the last stray is
	t.mu.Unlock()
	gone := t.strays.End(syscall.SIGKILL, 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if gone = gone && len(t.groups) == 0; gone {
		t.guardian.gone()
	}
	return gone
}
