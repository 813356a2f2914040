package process

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Table holds the groups of a session. It is safe for concurrent use.
type Table struct {
	session session
	record  *Record // nil: no guardian
	adopts  bool    // orphans become this process's children
	tells   bool    // the system tells a process's children
	next    atomic.Uint32

	marking sync.Mutex   // held while this process carries a group's mark
	fork    sync.RWMutex // read-held from a start to its registration in groups
	mu      sync.Mutex   // guards what follows, and what the groups say it does
	groups  map[*Group]bool
	leaders map[int]*Group  // by pid, for as long as that is also their session's number
	orphans map[int]*orphan // children that were adopted and are not reaped, by pid
}

// NewTable makes this process the one that orphans come to, where the system
// can do that. With a record, what it starts is told to the guardian.
func NewTable(record *Record) *Table {
	session := newSession()
	if record != nil {
		session = record.session
	}
	return &Table{
		session: session,
		record:  record,
		adopts:  becomeSubreaper(),
		tells:   tellsChildren(),
		groups:  make(map[*Group]bool),
		leaders: make(map[int]*Group),
		orphans: make(map[int]*orphan),
	}
}

// Start starts a command as the leader of a new session.
func (t *Table) Start(spec Spec) (*Group, error) {
	number := t.next.Add(1)
	g := &Group{
		table:  t,
		line:   lineOf(strings.Join(spec.Args, " ")),
		mark:   t.session.mark(number),
		token:  t.session.token(number),
		slot:   -1,
		exited: make(chan struct{}),
		empty:  make(chan struct{}),
		gone:   make(chan struct{}),
		known:  make(map[int]uint64),
	}
	files := make([]uintptr, len(spec.Files))
	for i, f := range spec.Files {
		files[i] = f.Fd()
		if i == 1 || i == 2 {
			g.output[i-1] = pipeOf(f)
		}
	}
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: withToken(spec.Env, g.token), Files: files}
	pidfd, err := t.start(g, spec, attr)
	if err != nil {
		return nil, err
	}
	go g.lead(pidfd)
	return g, nil
}

func (t *Table) start(g *Group, spec Spec, attr *syscall.ProcAttr) (pidfd int, err error) {
	t.fork.RLock()
	defer t.fork.RUnlock()
	var pid int
	t.marking.Lock()
	g.start, g.Started = clock(), time.Now()
	marked(g.mark, func() { pid, pidfd, err = forkExec(spec.Path, spec.Args, attr) })
	t.marking.Unlock()
	if err != nil {
		return -1, err
	}
	g.PID = pid
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.leaders[pid]; old != nil {
		t.releaseNumber(old)
	}
	t.groups[g], t.leaders[pid] = true, g
	if p, err := stat(pid); err == nil { // nobody else reaps it
		g.start = p.start
	}
	g.slot = t.record.add(pid, g.start)
	return pidfd, nil
}

// endLeader reaps a group's leader, which has ended, once it is known what
// that has left behind.
func (t *Table) endLeader(g *Group) {
	if !t.adopts {
		t.endLeaderAlone(g)
		return
	}
	t.Sweep()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record.reap(g.slot)
	g.reaped = true
	if g.left = g.orphans > 0; !g.left {
		t.remove(g)
	}
	g.status = wait(g.PID)
}

// endLeaderAlone is endLeader where orphans are not told of.
func (t *Table) endLeaderAlone(g *Group) {
	g.status = wait(g.PID)
	t.mu.Lock()
	t.record.reap(g.slot)
	g.reaped = true
	t.mu.Unlock()
	g.left = len(t.members(g)) > 0
}

// releaseNumber takes note that a leader's pid is, or may be, another's from
// now on. mu is held.
func (t *Table) releaseNumber(g *Group) {
	if t.leaders[g.PID] == g {
		delete(t.leaders, g.PID)
	}
	t.record.remove(g.slot)
	g.slot = -1
}

// leads returns the group that has a session's or process group's number, if
// one has. taken says whether a process has it for its pid. mu is held.
func (t *Table) leads(number int, taken func(pid int) bool) *Group {
	g := t.leaders[number]
	if g != nil && g.reaped && taken(number) {
		t.releaseNumber(g)
		return nil
	}
	return g
}

// awaitEmpty waits until nothing of a group lives, the leader having ended.
func (t *Table) awaitEmpty(g *Group) {
	if t.adopts {
		<-g.empty
		return
	}
	for members := t.members(g); len(members) > 0; members = t.members(g) {
		awaitExit(members[0])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(g)
}

// remove forgets a group that is empty. mu is held.
func (t *Table) remove(g *Group) {
	t.releaseNumber(g)
	delete(t.groups, g)
	close(g.empty)
}

// members lists the live processes of a group, parents before children.
func (t *Table) members(g *Group) []info {
	t.Sweep()
	all := t.look(g)
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := func(pid int) bool { _, ok := all[pid]; return ok }
	tree := newTree(all)
	for pid, p := range all {
		if t.belongs(p, g, taken) && (!t.adopts || tree.descends(pid, os.Getpid())) {
			tree.take(pid)
		}
	}
	clear(g.known)
	for _, p := range tree.taken {
		g.known[p.pid] = p.start
	}
	return tree.taken
}

// look reads the processes among which those of g are. Where orphans come to
// this process, all of g descends from its leader or from an orphan of g.
func (t *Table) look(g *Group) map[int]info {
	if !t.adopts || !t.tells {
		return list()
	}
	t.mu.Lock()
	var roots []int
	if !g.reaped {
		roots = append(roots, g.PID)
	}
	for pid, o := range t.orphans {
		if o.group == g {
			roots = append(roots, pid)
		}
	}
	t.mu.Unlock()
	return listBelow(roots)
}

// belongs reports whether p itself, and not only an ancestor of it, is known
// to be of g. mu is held.
func (t *Table) belongs(p info, g *Group, taken func(int) bool) bool {
	if p.pid == g.PID && !g.reaped || g.knows(p) {
		return true
	}
	if o := t.orphans[p.pid]; o != nil && o.start == p.start {
		return o.group == g
	}
	return t.leads(p.session, taken) == g
}

// knows reports whether p was seen as a member. The table's mu is held.
func (g *Group) knows(p info) bool {
	start, ok := g.known[p.pid]
	return ok && start == p.start
}

// Close ends every group that is left, and every orphan, at once. It reports
// whether nothing is left.
func (t *Table) Close() bool {
	t.mu.Lock()
	groups := make([]*Group, 0, len(t.groups))
	for g := range t.groups {
		groups = append(groups, g)
	}
	t.mu.Unlock()
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, g := range groups {
		wg.Go(func() {
			if !g.End(syscall.SIGKILL, 0) {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	return t.killStrays() && !failed.Load()
}

// killStrays ends the orphans of no group.
func (t *Table) killStrays() bool {
	denied := 0
	for deadline := time.Now().Add(killPatience); denied < deniedRounds && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		t.Sweep()
		t.mu.Lock()
		tree := newTree(nil)
		if len(t.orphans) > 0 {
			tree = newTree(list())
		}
		for pid := range t.orphans {
			tree.take(pid)
		}
		t.mu.Unlock()
		if len(tree.taken) == 0 {
			return true
		}
		if denied++; !killEach(tree.taken) {
			denied = 0
		}
	}
	return false
}
