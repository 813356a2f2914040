package executor

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"bashplugin/plugin/internal/rmtree"
)

// temps makes the TMPDIRs of a session's confined commands. It is safe for concurrent use.
type temps struct {
	path    string // of the folder that holds them
	missing error  // why it cannot be used

	mu     sync.Mutex // guards folder
	folder *os.Root   // nil: it cannot be used
}

// openTemps prepares for TMPDIRs below a path.
func openTemps(path string) *temps {
	t := new(temps)
	t.path, t.missing = filepath.EvalSymlinks(path) // a rule for a path with a link would allow nothing
	if t.missing == nil {
		t.folder, t.missing = os.OpenRoot(t.path)
	}
	return t
}

// add makes a TMPDIR.
func (t *temps) add() (path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folder == nil {
		return "", t.missing
	}
	name, err := newFolder(t.folder)
	if errors.Is(err, fs.ErrNotExist) { // a command has removed the folder
		err = t.reopenLocked()
		if err == nil {
			name, err = newFolder(t.folder)
		}
	}
	return filepath.Join(t.path, name), err
}

// reopenLocked makes the folder again. It fails if something else is there.
func (t *temps) reopenLocked() error {
	if err := os.Mkdir(t.path, 0o700); err != nil {
		return err
	}
	folder, err := os.OpenRoot(t.path)
	if err != nil {
		return err
	}
	t.folder.Close()
	t.folder = folder
	return nil
}

// newFolder makes a folder with a short name: the path of a unix socket below it may have
// about 100 bytes.
func newFolder(parent *os.Root) (name string, err error) {
	for range 100 {
		name = "tmp-" + rand.Text()[:8]
		err = parent.Mkdir(name, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// remove removes a TMPDIR. None of its command's processes may live.
func (t *temps) remove(path string) {
	t.mu.Lock()
	folder := t.folder
	t.mu.Unlock()
	_ = rmtree.Below(folder, filepath.Base(path))
}

// close is called when there are no commands any more.
func (t *temps) close() {
	if t.folder != nil {
		t.folder.Close()
	}
}
