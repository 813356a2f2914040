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
	id       pluginID
	strays   *Group         // the orphans without a group's tag
	ends     chan os.Signal // SIGCHLD: orphans may have ended
	quit     chan struct{}  // closed by Close
	watches  watches

	// forking is held from a fork until the end of its exec. It is taken before mu.
	forking sync.Mutex
	forker  *thread // forks what is not restricted
	started uint32  // how many commands, so far

	// mu guards the fields below and some of each Group. It is held while a child is reaped.
	mu sync.Mutex

	groups  map[tag]*Group // until none of their processes lives
	leaders map[int]*Group // by pid, until they are reaped
	orphans map[int]*Group // by pid, until they are reaped

	// isForking is true during a fork, whose child may be a new leader and no orphan.
	isForking bool

	// peak is the most memory that this process is known to have had.
	peak int64
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
	t.strays = newGroup(t, 0)              // has one child from the start, so that it stays open until Close
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
	t.beginFork(g)
	pid := 0
	defer func() { t.endFork(g, pid) }() // after a panic, too
	started, err := fork(spec, g.tag, t.forker)
	if err != nil {
		return nil, err
	}
	pid = started
	return g, nil
}

// beginFork adds a group, because its orphans may come before its leader is known.
func (t *Table) beginFork(g *Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.groups[g.tag] = g
	t.isForking = true
}

// endFork gives a group its leader. If pid is 0 the fork has failed, and the group is gone.
func (t *Table) endFork(g *Group, pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isForking = false
	if pid == 0 {
		t.releaseLocked(g)
	} else {
		t.leadLocked(g, pid)
	}
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
	t.endGroups()
	t.closeStrays()
	noStrays := t.strays.End(syscall.SIGKILL, 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !noStrays || len(t.groups) > 0 {
		return false
	}
	t.guardian.gone()
	return true
}

// endGroups kills all groups side by side.
func (t *Table) endGroups() {
	t.mu.Lock()
	groups := slices.Collect(maps.Values(t.groups))
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, g := range groups {
		wg.Go(func() { g.End(syscall.SIGKILL, 0) })
	}
	wg.Wait()
}

// closeStrays lets the strays be gone once the last of them has ended.
func (t *Table) closeStrays() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepLocked()
	t.releaseLocked(t.strays)
}
