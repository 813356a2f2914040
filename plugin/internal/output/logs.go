package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Defaults of LogsConfig.
const (
	DefaultMaxLogBytes     = 256 << 20
	DefaultMaxSessionBytes = 2 << 30
	DefaultMaxUserBytes    = 4 << 30
	DefaultRetention       = 24 * time.Hour
)

// LogsConfig says where a session keeps its logs and how much they may grow.
type LogsConfig struct {
	// Folder holds the sessions' folders. The caller closes it after all Logs in it. If it
	// is nil, the Logs open and close a Folder of their own, at the path Dir.
	Folder *Folder

	// Dir is the path of the Folder, as NewFolder takes it. It is used if Folder is nil.
	Dir string

	// MaxBytes is the bound of one log; 0: DefaultMaxLogBytes.
	MaxBytes int64

	// MaxSessionBytes is the bound of all logs of the session; 0: DefaultMaxSessionBytes.
	MaxSessionBytes int64

	// MaxUserBytes is the bound of all logs of this user in Dir; 0: DefaultMaxUserBytes.
	MaxUserBytes int64

	// PID is the plugin's, which is part of the name of the session's folder; 0: that of
	// this process.
	PID int

	// Retention is how long logs are kept after their session; 0: DefaultRetention;
	// negative: they are removed when the session ends.
	Retention time.Duration
}

// Logs are a session's logs, in a folder with mode 0700 below the Folder. That folder is made for
// the first log, so that a session without one leaves nothing behind. Logs are safe for concurrent
// use.
type Logs struct {
	cfg LogsConfig
	dir *Folder // cfg.Folder, or its own

	mu      sync.Mutex       // guards the fields below
	session *session         // nil: not made yet, or removed
	sizes   map[string]int64 // of the finished logs, by name
	closed  bool

	// left is how many bytes the session may still write.
	left int64

	// room is how many bytes the session may write before it measures the logs of all
	// sessions of this user again.
	room int64
}

// NewLogs returns a session's Logs. It creates nothing on disk yet.
func NewLogs(cfg LogsConfig) *Logs {
	dir := cfg.Folder
	if dir == nil {
		dir = NewFolder(cfg.Dir)
	}
	cfg.Dir = dir.path
	cfg.PID = cmp.Or(cfg.PID, os.Getpid())
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxLogBytes)
	cfg.MaxSessionBytes = cmp.Or(cfg.MaxSessionBytes, DefaultMaxSessionBytes)
	cfg.MaxUserBytes = cmp.Or(cfg.MaxUserBytes, DefaultMaxUserBytes)
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	return &Logs{cfg: cfg, dir: dir, left: cfg.MaxSessionBytes, sizes: map[string]int64{}}
}

// Pattern is a pattern for filepath.Glob. It matches the folders with this process's logs
// and those that KeepCrash made. It is "" if nothing is kept.
func (cfg LogsConfig) Pattern() string {
	if cfg.Retention < 0 {
		return ""
	}
	dir := cmp.Or(cfg.Dir, DefaultLogDir())
	return filepath.Join(dir, fmt.Sprintf("%s%d-*", sessionPrefix, os.Getpid()))
}

// Open is Folder.Open. Its error may be ignored: a log that cannot be made says why.
func (l *Logs) Open() error { return l.dir.Open() }

// Sweep is Folder.Sweep.
func (l *Logs) Sweep() { l.dir.Sweep() }

// Below is Folder.Below.
func (l *Logs) Below(paths []string) bool { return l.dir.Below(paths) }

// createTries is how often create tries to make a log: other processes may remove the
// folders or lock them meanwhile.
const createTries = 5

// create makes a new, empty log. It never opens an existing file or follows a link.
func (l *Logs) create(name string) (*logReader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("no log: the session has ended")
	}
	for range createTries {
		log, err := l.tryLocked(name)
		if err == nil {
			return log, nil
		}
		if !isGone(err) && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("no log: %w", err)
		}
	}
	return nil, errors.New("no log: its folder is removed or locked again and again")
}

// tryLocked makes a log, and the folders for it. If it finds that another process has
// removed a folder, it fails and forgets that folder, so that the next try makes it again.
func (l *Logs) tryLocked(name string) (*logReader, error) {
	if l.session == nil {
		dir, err := l.dir.open(true)
		if err != nil {
			return nil, err
		}
		l.session, err = newSession(dir, l.cfg.PID, l.cfg.Retention)
		if isGone(err) {
			l.dir.removed(dir)
		}
		if err != nil {
			return nil, err
		}
	}
	log, err := l.session.create(name)
	if isGone(err) {
		l.session.close()
		l.session = nil
	}
	if err != nil {
		return nil, err
	}
	log.path = filepath.Join(l.cfg.Dir, log.path)
	return log, nil
}

// isGone reports whether an error says that a folder was removed. Another session may have
// noticed that, and closed it.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrClosed) }

// Close unlocks the session's folder. It removes the folder if no log is left in it
// or, with a negative retention, in any case.
func (l *Logs) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var err error
	if l.session != nil {
		if l.cfg.Retention < 0 || l.session.holdsNothing() {
			err = l.session.remove()
		}
		l.session.close()
		l.session = nil
	}
	if l.cfg.Folder == nil {
		l.dir.Close()
	}
	return err
}

// roomParts divides MaxUserBytes into parts. A session measures the logs of all sessions of
// this user each time it has written one part. So sessions that write at once exceed the
// bound by at most one part each.
const roomParts = 64

// allow returns how many of n bytes a log of the given size may take, and the
// reason if it may not take all. It subtracts these bytes from the bounds.
func (l *Logs) allow(size int64, n int) (allowed int, reason error) {
	count := int64(n)
	if left := l.cfg.MaxBytes - size; count > left {
		count = max(0, left)
		reason = fmt.Errorf("one log may hold %d bytes", l.cfg.MaxBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left < count {
		l.reclaimLocked()
	}
	if l.left < count {
		count = l.left
		reason = fmt.Errorf("the logs of this session may hold %d bytes; remove some to make room",
			l.cfg.MaxSessionBytes)
	}
	if l.room < count {
		part := max(l.cfg.MaxUserBytes/roomParts, count)
		l.room = min(part, l.dir.makeRoom(l.cfg.MaxUserBytes, part))
	}
	if l.room < count {
		count = l.room
		reason = fmt.Errorf("all logs of this user in %s may hold %d bytes; remove some to make room",
			l.cfg.Dir, l.cfg.MaxUserBytes)
	}
	l.left -= count
	l.room -= count
	return int(count), reason
}

// finished records a log that gets no more text.
func (l *Logs) finished(name string, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes[name] = size
}

// reclaimLocked gives back the bytes of finished logs that were removed.
func (l *Logs) reclaimLocked() {
	for name, size := range l.sizes {
		if !l.session.has(name) {
			delete(l.sizes, name)
			l.left += size
		}
	}
}
