package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Folder is the folder that holds the sessions' folders. Its path is looked up once. From
// then on the folder is used by its descriptor: a command that moves it, or puts a link in
// its place, cannot lead the plugin elsewhere. If the folder was removed it is made again
// in the same place, but not through a link. It is safe for concurrent use.
type Folder struct {
	path string

	mu   sync.Mutex // guards the fields below
	root *os.Root   // nil: not open

	// place is the path where the folder is or will be, without symbolic links. It is ""
	// until it has been looked up.
	place string
}

// NewFolder returns the Folder with an absolute path; "": a private folder for the user
// below os.TempDir. It looks nothing up yet.
func NewFolder(path string) *Folder { return &Folder{path: cmp.Or(path, DefaultLogDir())} }

// FindFolder is NewFolder for a path that is looked up at once. It makes no folder.
func FindFolder(path string) *Folder {
	f := NewFolder(path)
	_, _ = f.open(false)
	return f
}

// DefaultLogDir is the folder that holds the sessions' folders of this user.
func DefaultLogDir() string {
	dir, _ := filepath.Abs(filepath.Join(os.TempDir(), fmt.Sprintf("bash-plugin-%d", os.Getuid())))
	return dir
}

// Open looks the folder up, and makes it if it is missing. The plugin calls it before it
// runs a command that might put a link in the folder's place.
func (f *Folder) Open() error {
	_, err := f.open(true)
	return err
}

// Close closes the descriptor of the folder.
func (f *Folder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != nil {
		f.root.Close()
		f.root = nil
	}
}

// Sweep removes the folders of sessions that ended longer ago than their retention. It
// never removes the folder of a live session.
func (f *Folder) Sweep() { f.makeRoom(math.MaxInt64, 0) }

// KeepCrash keeps what a plugin wrote as it crashed, in a folder that is swept like that of a
// session.
func (f *Folder) KeepCrash(plugin int, text []byte) {
	l := NewLogs(LogsConfig{Folder: f, PID: plugin})
	if log, err := l.create("crash.txt"); err == nil {
		_, _ = log.file.Write(text)
		log.file.Close()
	}
	_ = l.Close()
}

// Below reports whether the folder is below one of these paths, with or without its
// symbolic links: a command that may write below the path may change the logs. The paths
// have no symbolic links.
func (f *Folder) Below(paths []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookUpLocked()
	return slices.ContainsFunc(paths, func(path string) bool {
		return isBelow(f.place, path) || isBelow(f.path, path)
	})
}

func isBelow(path, above string) bool {
	rest, err := filepath.Rel(above, path)
	return err == nil && filepath.IsLocal(rest)
}

// open returns the folder. It makes a missing one if create is set.
func (f *Folder) open(create bool) (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != nil {
		return f.root, nil
	}
	f.lookUpLocked()
	root, err := openAt(f.place, create)
	if err != nil {
		return nil, err
	}
	if err := f.check(root); err != nil {
		root.Close()
		return nil, err
	}
	f.root = root
	return root, nil
}

// removed closes root, which open has returned: somebody has removed the folder.
func (f *Folder) removed(root *os.Root) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root == root {
		f.root = nil
	}
	root.Close()
}

// check refuses a default folder that another user made, because its name is easy
// to guess. Any other folder is the choice of the plugin's user.
func (f *Folder) check(root *os.Root) error {
	if f.path != DefaultLogDir() {
		return nil
	}
	named, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	stat, ok := opened.Sys().(*syscall.Stat_t)
	isOurs := ok && int(stat.Uid) == os.Getuid()
	isPrivate := opened.Mode().Perm()&0o077 == 0
	if !isOurs || !isPrivate || !os.SameFile(named, opened) {
		return fmt.Errorf("%s is not a private folder of this user; remove it, or set another log directory", f.path)
	}
	return nil
}

func (f *Folder) lookUpLocked() {
	if f.place == "" {
		f.place = lookUp(f.path)
	}
}

// lookUp returns a path without its symbolic links. Parts at its end that cannot be opened stay as
// they are.
func lookUp(path string) string {
	root, err := openFolder(path)
	if err != nil {
		if path == filepath.Dir(path) {
			return path
		}
		return filepath.Join(lookUp(filepath.Dir(path)), filepath.Base(path))
	}
	defer root.Close()
	place, err := placeOf(root)
	if err != nil {
		return path
	}
	return place
}

// openAt opens the folder at a place, and makes a missing one if create is set. It fails
// if a symbolic link leads away from the place.
func openAt(place string, create bool) (*os.Root, error) {
	root, err := openFolder(place)
	if create && errors.Is(err, fs.ErrNotExist) {
		root, err = makeAt(place)
	}
	if err != nil {
		return nil, err
	}
	actual, err := placeOf(root)
	if err == nil && actual != place {
		err = fmt.Errorf("%s, or a folder above it, was replaced by a symbolic link", place)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func makeAt(place string) (*os.Root, error) {
	above, err := openAt(filepath.Dir(place), true)
	if errors.Is(err, fs.ErrPermission) {
		// The folder above cannot be read, but it may be writable.
		err = os.MkdirAll(place, 0o700)
		if err != nil {
			return nil, err
		}
		return openFolder(place)
	}
	if err != nil {
		return nil, err
	}
	defer above.Close()
	name := filepath.Base(place)
	err = above.Mkdir(name, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openBelow(above, name)
}

// openFolder opens a folder. The dot keeps the system from waiting for the writer of a
// FIFO at that path.
func openFolder(path string) (*os.Root, error) {
	root, err := os.OpenRoot(path + "/.")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, cause(err))
	}
	return root, nil
}

// openBelow opens a folder in another, not through a symbolic link.
func openBelow(above *os.Root, name string) (*os.Root, error) {
	root, err := above.OpenRoot(name + "/.") // see openFolder
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, cause(err))
	}
	named, errNamed := above.Lstat(name)
	opened, errOpened := root.Stat(".")
	err = errors.Join(errNamed, errOpened)
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s was replaced", name)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// list returns the names in a folder. It returns none if the folder was removed.
func list(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}
