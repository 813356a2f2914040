package process

import (
	"sync"
	"sync/atomic"
	"syscall"
)

// Table holds the groups of a plugin. It is safe for concurrent use. A process
// has one Table: orphans come to the process, not to a Table.
type Table struct {
	instance instance
	started  atomic.Uint32 // how many commands, so far
	reaper   *reaper
}

// NewTable makes this process the one that orphans come to, where the system
// can do that. The guardian may be nil.
func NewTable(guardian *Guardian) *Table {
	t := &Table{reaper: newReaper(guardian)}
	if guardian != nil {
		t.instance = guardian.instance
	} else {
		t.instance = newInstance()
	}
	return t
}

// Start starts a command as the leader of a new session.
func (t *Table) Start(spec Spec) (*Group, error) {
	g := newGroup(t.reaper, t.instance.mark(t.started.Add(1)))
	if err := t.reaper.start(g, spec); err != nil {
		return nil, err
	}
	return g, nil
}

// Sweep adopts the orphans that have come since the last call. It is cheap
// where there are none.
func (t *Table) Sweep() { t.reaper.sweep() }

// Close ends every group that is left, then every stray, at once. It reports
// whether nothing is left. It must be called once only.
func (t *Table) Close() bool {
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, g := range t.reaper.all() {
		wg.Go(func() {
			if !g.End(syscall.SIGKILL, 0) {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	return t.reaper.close() && !failed.Load()
}
