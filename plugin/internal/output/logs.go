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
	Dir             string        // holds the sessions' folders, an absolute path; "": a private folder for the user below os.TempDir
	MaxBytes        int64         // of one log; 0: DefaultMaxLogBytes
	MaxSessionBytes int64         // of all logs of the session; 0: DefaultMaxSessionBytes
	MaxUserBytes    int64         // of all logs of this user in Dir; 0: DefaultMaxUserBytes
	PID             int           // of the plugin, with which the folder's name begins; 0: of this process
	Retention       time.Duration // how long logs are kept after their session; 0: DefaultRetention; negative: not at all
}

// Logs is a session's folder of logs. The folder, with mode 0700, is made for
// the first log, so that a session without one leaves nothing behind. It is
// safe for concurrent use.
type Logs struct {
	cfg LogsConfig

	mu     sync.Mutex // guards the fields below
	left   int64      // bytes that the session may still write
	room   int64      // bytes that it may write before it looks at the sessions of this user again
	folder string
	lock   *os.File // held while the session lives
	closed bool
	sizes  map[string]int64 // of the finished logs, by path
}

// NewLogs returns a session's Logs. It creates nothing on disk yet.
func NewLogs(cfg LogsConfig) *Logs {
	cfg.Dir = cmp.Or(cfg.Dir, DefaultLogDir())
	cfg.PID = cmp.Or(cfg.PID, os.Getpid())
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxLogBytes)
	cfg.MaxSessionBytes = cmp.Or(cfg.MaxSessionBytes, DefaultMaxSessionBytes)
	cfg.MaxUserBytes = cmp.Or(cfg.MaxUserBytes, DefaultMaxUserBytes)
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	return &Logs{cfg: cfg, left: cfg.MaxSessionBytes, sizes: map[string]int64{}}
}

// DefaultLogDir is the folder that holds the sessions' folders of this user.
func DefaultLogDir() string {
	dir, _ := filepath.Abs(filepath.Join(os.TempDir(), fmt.Sprintf("bash-plugin-%d", os.Getuid())))
	return dir
}

// Pattern matches the folders of this process's logs and of what KeepCrash keeps; "":
// nothing is kept.
func (cfg LogsConfig) Pattern() string {
	if cfg.Retention < 0 {
		return ""
	}
	return filepath.Join(cmp.Or(cfg.Dir, DefaultLogDir()), fmt.Sprintf("%s%d-*", sessionPrefix, os.Getpid()))
}

// KeepCrash keeps what a plugin has said as it crashed, in a folder that is swept like
// that of a session.
func KeepCrash(dir string, plugin int, text []byte) {
	l := NewLogs(LogsConfig{Dir: dir, PID: plugin})
	if file, err := l.create("crash.txt"); err == nil {
		_, _ = file.Write(text)
		file.Close()
	}
	_ = l.Close()
}

// create makes a new, empty log. It never opens an existing file or follows a link.
func (l *Logs) create(name string) (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("no log: the session has ended")
	}
	for range 2 { // if the folder was removed, it is made again
		if err := l.open(); err != nil {
			return nil, fmt.Errorf("no log: %w", err)
		}
		file, err := os.OpenFile(filepath.Join(l.folder, name), os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no log: %w", err)
		}
		l.lock.Close()
		l.lock = nil
	}
	return nil, errors.New("no log: its folder is removed again and again")
}

// open makes the session's folder if there is none.
func (l *Logs) open() error {
	if l.lock != nil {
		return nil
	}
	if err := os.MkdirAll(l.cfg.Dir, 0o700); err != nil {
		return err
	}
	if err := checkDir(l.cfg.Dir); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(l.cfg.Dir, fmt.Sprintf("%s%d-", sessionPrefix, l.cfg.PID))
	if err != nil {
		return err
	}
	lock, err := lockSession(folder, l.cfg.Retention)
	if err != nil {
		os.RemoveAll(folder)
		return err
	}
	l.folder, l.lock = folder, lock
	return nil
}

// checkDir refuses a default folder that another user made, because its name is easy
// to guess. Any other folder is the choice of the plugin's user.
func checkDir(dir string) error {
	if dir != DefaultLogDir() {
		return nil
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a private folder of this user; remove it, or set another log directory", dir)
	}
	return nil
}

// Close unlocks the session's folder. It removes the folder if no log is left in it
// or, with a negative retention, in any case.
func (l *Logs) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.lock == nil {
		return nil
	}
	var err error
	if l.cfg.Retention < 0 || holdsNothing(l.folder) {
		err = os.RemoveAll(l.folder)
	}
	return errors.Join(err, l.lock.Close())
}

// holdsNothing reports whether a session's folder holds only its lock.
func holdsNothing(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) == 1 && entries[0].Name() == lockName
}

// roomParts divides MaxUserBytes: a session looks at the sessions of this user when it
// has written one part more. So sessions that write at once exceed the bound by at most
// one part each.
const roomParts = 64

// allow returns how many of n bytes a log of the given size may take, and the
// reason if it may not take all. It subtracts these bytes from the bounds.
func (l *Logs) allow(size int64, n int) (allowed int, reason error) {
	allowed = n
	if left := l.cfg.MaxBytes - size; int64(allowed) > left {
		allowed, reason = int(max(0, left)), fmt.Errorf("one log may hold %d bytes", l.cfg.MaxBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left < int64(allowed) {
		l.reclaimLocked()
	}
	if l.left < int64(allowed) {
		allowed = int(l.left)
		reason = fmt.Errorf("the logs of this session may hold %d bytes; logs that you remove count no more", l.cfg.MaxSessionBytes)
	}
	if l.room < int64(allowed) {
		part := max(l.cfg.MaxUserBytes/roomParts, int64(allowed))
		l.room = min(part, makeRoom(l.cfg.Dir, l.cfg.MaxUserBytes, part))
	}
	if l.room < int64(allowed) {
		allowed = int(l.room)
		reason = fmt.Errorf("all logs of this user in %s may hold %d bytes; logs that you remove count no more", l.cfg.Dir, l.cfg.MaxUserBytes)
	}
	l.left -= int64(allowed)
	l.room -= int64(allowed)
	return allowed, reason
}

// finished records a log that gets no more text.
func (l *Logs) finished(path string, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes[path] = size
}

// reclaimLocked gives back the bytes of finished logs that were removed.
func (l *Logs) reclaimLocked() {
	for path, size := range l.sizes {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			delete(l.sizes, path)
			l.left += size
		}
	}
}
