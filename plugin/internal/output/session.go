package output

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"bashplugin/plugin/internal/rmtree"
)

const (
	sessionPrefix = "session-"
	lockName      = ".lock" // its content is the session's retention
)

// session is the folder of this session's logs. It is used by its descriptor, so it works
// wherever a command has moved the folder.
type session struct {
	dir  *os.Root // the folder in which it was made
	name string
	root *os.Root
	lock *os.File // held while the session lives
}

// newSession makes a session's folder in dir. If another process has locked it meanwhile,
// the error is EWOULDBLOCK.
func newSession(dir *os.Root, pid int, retention time.Duration) (*session, error) {
	name := fmt.Sprintf("%s%d-%d", sessionPrefix, pid, rand.Uint64())
	if err := dir.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	s, err := openSession(dir, name, retention)
	if err != nil {
		_ = rmtree.Below(dir, name)
	}
	return s, err
}

func openSession(dir *os.Root, name string, retention time.Duration) (*session, error) {
	root, err := openBelow(dir, name)
	if err != nil {
		return nil, err
	}
	lock, err := lockSession(root, retention)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &session{dir: dir, name: name, root: root, lock: lock}, nil
}

// lockSession marks a folder as that of a live session until the returned file is
// closed. It does not wait for the lock: another process could hold it for ever.
func lockSession(root *os.Root, retention time.Duration) (*os.File, error) {
	lock, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = lock.WriteString(retention.String())
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// create makes a new, empty log. Its path begins at dir.
func (s *session) create(name string) (*logReader, error) {
	file, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	made, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &logReader{
		path:   filepath.Join(s.name, name),
		name:   name,
		folder: s.root,
		file:   file,
		made:   made,
	}, nil
}

// has reports whether there is a log. A nil session has none.
func (s *session) has(name string) bool {
	if s == nil {
		return false
	}
	_, err := s.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// holdsNothing reports whether the folder holds nothing but its lock.
func (s *session) holdsNothing() bool {
	names, err := list(s.root)
	isLog := func(name string) bool { return name != lockName }
	return err == nil && !slices.ContainsFunc(names, isLog)
}

// remove removes the logs, wherever their folder is now, and the folder if it is where it
// was made.
func (s *session) remove() error {
	_ = s.root.Chmod(".", 0o700) // a command may have changed it
	names, err := list(s.root)
	for _, name := range names {
		err = errors.Join(err, rmtree.Below(s.root, name))
	}
	errFolder := rmtree.Below(s.dir, s.name)
	if errors.Is(errFolder, os.ErrClosed) { // dir was removed
		errFolder = nil
	}
	return errors.Join(err, errFolder)
}

func (s *session) close() {
	s.root.Close()
	s.lock.Close()
}
