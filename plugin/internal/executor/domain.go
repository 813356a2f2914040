package executor

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/process"
	"bashplugin/plugin/internal/rmtree"
)

// maxDomains is how many domains wait for further commands: that of the session's Confine and
// those of some requests. Each has a thread and a folder.
const maxDomains = 8

// domains are a session's domains. Commands that may touch the same share one, so that they
// can signal each other, as commands that are not confined can. It is safe for concurrent use.
type domains struct {
	path    string   // of the folder
	folder  *os.Root // holds the folders of the domains; nil: it cannot be used
	missing error    // why it cannot be used

	mu     sync.Mutex // guards the fields below and the users of every domain
	kept   []*domain  // those that further commands may join, the latest used last
	ended  []*domain  // those without a user, which must be closed
	open   int        // how many are not closed
	closed bool       // no command joins any more
}

// domain is a thread that forks confined commands, and the folder of their TMPDIRs.
type domain struct {
	key    string // what is allowed in it; "": it belongs to one command
	users  int    // its commands, and 1 while it is kept
	thread *process.Thread
	name   string   // of the folder
	folder *os.Root // nil: its commands need no TMPDIR
}

// openDomains prepares for domains with their folders below a path.
func openDomains(path string) *domains {
	d := new(domains)
	d.path, d.missing = filepath.EvalSymlinks(path) // a rule for a path with a link would allow nothing
	if d.missing == nil {
		d.folder, d.missing = os.OpenRoot(d.path)
	}
	return d
}

// join returns the domain of a command, which must leave it, and the command's TMPDIR, "" if it
// needs none. A command with a terminal has a domain of its own: no other command may open its
// terminal.
func (d *domains) join(plan confine.Plan, bash, terminal string) (joined *domain, temp string, err error) {
	key := ""
	if terminal == "" {
		key = plan.Key(bash)
	}
	d.mu.Lock()
	defer d.closeEnded()
	defer d.mu.Unlock()
	if known := d.findLocked(key); known != nil {
		temp, err = d.newTemp(known)
		if err == nil {
			known.users++
			return known, temp, nil
		}
		d.dropLocked(known) // somebody has removed its folder
	}
	joined, err = d.make(plan, bash, terminal)
	if err != nil {
		return nil, "", plan.Failed("cannot confine the command: %v", err)
	}
	d.open++
	joined.users = 1
	temp, err = d.newTemp(joined)
	if err != nil {
		d.releaseLocked(joined)
		return nil, "", plan.Failed("cannot make a TMPDIR for the command: %v", err)
	}
	if terminal == "" {
		joined.key = key
		d.keepLocked(joined)
	}
	return joined, temp, nil
}

// leave ends a command's use of a domain. None of its processes may live.
func (d *domains) leave(joined *domain, temp string) {
	if temp != "" {
		_ = rmtree.Below(joined.folder, filepath.Base(temp))
	}
	d.mu.Lock()
	defer d.closeEnded()
	defer d.mu.Unlock()
	d.releaseLocked(joined)
}

// close ends the domains. That of a command that is not over ends with the command.
func (d *domains) close() {
	d.mu.Lock()
	for len(d.kept) > 0 {
		d.dropLocked(d.kept[0])
	}
	d.closed = true
	d.mu.Unlock()
	d.closeEnded()
}

// findLocked returns a kept domain, nil if there is none.
func (d *domains) findLocked(key string) *domain {
	at := slices.IndexFunc(d.kept, func(kept *domain) bool { return kept.key == key })
	if at < 0 {
		return nil
	}
	found := d.kept[at]
	d.kept = append(slices.Delete(d.kept, at, at+1), found)
	return found
}

// keepLocked keeps a domain for further commands.
func (d *domains) keepLocked(joined *domain) {
	joined.users++
	d.kept = append(d.kept, joined)
	if len(d.kept) > maxDomains {
		d.dropLocked(d.kept[0])
	}
}

// dropLocked undoes keepLocked.
func (d *domains) dropLocked(kept *domain) {
	d.kept = slices.DeleteFunc(d.kept, func(k *domain) bool { return k == kept })
	d.releaseLocked(kept)
}

func (d *domains) releaseLocked(used *domain) {
	used.users--
	if used.users == 0 {
		d.ended = append(d.ended, used)
	}
}

// make makes a domain.
func (d *domains) make(plan confine.Plan, bash, terminal string) (*domain, error) {
	opened := new(domain)
	path := ""
	if plan.NeedsTemp() {
		if d.folder == nil {
			return nil, d.missing
		}
		name, err := newFolder(d.folder, "d-")
		if err != nil {
			return nil, err
		}
		opened.name = name
		opened.folder, err = d.folder.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		path = filepath.Join(d.path, name)
	}
	var err error
	opened.thread, err = process.NewThread(func() error { return plan.Restrict(bash, path, terminal) })
	if err != nil {
		d.removeFolder(opened)
		return nil, err
	}
	return opened, nil
}

// newTemp makes a TMPDIR for a command.
func (d *domains) newTemp(joined *domain) (path string, err error) {
	if joined.folder == nil {
		return "", nil
	}
	name, err := newFolder(joined.folder, "tmp-")
	return filepath.Join(d.path, joined.name, name), err
}

// newFolder makes a folder with a short name: the path of a unix socket below it may have
// about 100 bytes. Other commands may write to parent and take names.
func newFolder(parent *os.Root, prefix string) (name string, err error) {
	for range 100 {
		name = prefix + rand.Text()[:6]
		err = parent.Mkdir(name, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// closeEnded closes the domains without a user. Others may join domains meanwhile: to remove
// a folder can take long.
func (d *domains) closeEnded() {
	d.mu.Lock()
	ended := d.ended
	d.ended = nil
	d.mu.Unlock()
	for _, e := range ended {
		e.thread.Close()
		d.removeFolder(e)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open -= len(ended)
	if d.closed && d.open == 0 && d.folder != nil {
		d.folder.Close()
	}
}

func (d *domains) removeFolder(of *domain) {
	if of.folder != nil {
		of.folder.Close()
		_ = rmtree.Below(d.folder, of.name)
	}
}
