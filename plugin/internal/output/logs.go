package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Defaults of LogsConfig.
const (
	DefaultMaxLogBytes     = 256 << 20
	DefaultMaxSessionBytes = 2 << 30
	DefaultRetention       = 24 * time.Hour
)

// LogsConfig says where a session keeps its logs and how much they may grow.
type LogsConfig struct {
	Dir             string        // holds the sessions' folders; "": a private folder for the user below os.TempDir
	MaxBytes        int64         // of one log; 0: DefaultMaxLogBytes
	MaxSessionBytes int64         // of all logs of the session; 0: DefaultMaxSessionBytes
	Retention       time.Duration // how long logs outlive their session; 0: DefaultRetention; negative: not at all
}

// Logs is a session's folder of logs. The folder, with mode 0700, is made for
// the first log, so that a session without one leaves nothing behind. It is
// safe for concurrent use.
type Logs struct {
	cfg    LogsConfig
	blocks *blocks
	left   atomic.Int64 // bytes that the session may still write

	mu     sync.Mutex // guards what follows
	folder string
	lock   *os.File // held while the session lives
	closed bool
	sizes  map[string]int64 // of the logs that are finished, by path
	looked time.Time        // when reclaim last looked for them
}

// NewLogs makes nothing on disk yet.
func NewLogs(cfg LogsConfig) *Logs {
	if cfg.Dir == "" {
		cfg.Dir = DefaultLogDir()
	}
	if abs, err := filepath.Abs(cfg.Dir); err == nil { // a Result's paths are for whoever, wherever
		cfg.Dir = abs
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxLogBytes
	}
	if cfg.MaxSessionBytes == 0 {
		cfg.MaxSessionBytes = DefaultMaxSessionBytes
	}
	if cfg.Retention == 0 {
		cfg.Retention = DefaultRetention
	}
	l := &Logs{cfg: cfg, blocks: newBlocks(), sizes: map[string]int64{}}
	l.left.Store(cfg.MaxSessionBytes)
	return l
}

// DefaultLogDir is the folder that holds the sessions' folders of this user.
func DefaultLogDir() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("bash-plugin-%d", os.Getuid()))
	if path, err := filepath.Abs(dir); err == nil {
		return path
	}
	return dir
}

// create makes a new, empty log, never over or through anything that exists.
func (l *Logs) create(name string) (*Log, error) {
	var path string
	file, err := l.inFolder(func(folder string) (*os.File, error) {
		path = filepath.Join(folder, name)
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	})
	if err != nil {
		return nil, fmt.Errorf("no log: %w", err)
	}
	return &Log{logs: l, file: file, path: path}, nil
}

// inFolder makes a file in the session's folder.
func (l *Logs) inFolder(create func(folder string) (*os.File, error)) (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("the session has ended")
	}
	for range 2 { // a folder that somebody removed is made again
		if err := l.open(); err != nil {
			return nil, err
		}
		file, err := create(l.folder)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		l.lock.Close()
		l.lock = nil
	}
	return nil, errors.New("its folder is removed again and again")
}

// open makes the session's folder where there is none.
func (l *Logs) open() error {
	if l.lock != nil {
		return nil
	}
	if err := privateDir(l.cfg.Dir); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(l.cfg.Dir, sessionPrefix)
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

// privateDir makes dir with mode 0700 where it does not exist.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkDir(dir)
}

// checkDir refuses a default folder that somebody else made: anybody can guess
// its name. Any other folder is its user's choice.
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

// Folder returns the session's folder, "" where no log was made.
func (l *Logs) Folder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.folder
}

// Close ends the session's hold on its folder and removes it where nothing is in
// it any more or, with a negative retention, in any case.
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

// holdsNothing reports whether a session's folder has its lock alone.
func holdsNothing(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) == 1 && entries[0].Name() == lockName
}

// allow says how many of n bytes a log of the given size may take, and what
// stops it where these are not all. The bytes are taken off the session's
// bound.
func (l *Logs) allow(size int64, n int) (allowed int, reason string) {
	allowed = n
	if left := l.cfg.MaxBytes - size; int64(allowed) > left {
		allowed, reason = int(max(0, left)), fmt.Sprintf("a log may hold %d bytes (MaxLogBytes)", l.cfg.MaxBytes)
	}
	if got := l.take(allowed, 0); got < allowed {
		allowed, reason = got, fmt.Sprintf("the session's logs may hold %d bytes (MaxSessionLogBytes; a log that is removed counts no more)", l.cfg.MaxSessionBytes)
	}
	return allowed, reason
}

// take takes n bytes off the session's bound, or as many as are left of it
// beyond some that are not to be touched.
func (l *Logs) take(n int, reserved int64) int {
	got := l.grab(n, reserved)
	if got < n {
		l.reclaim()
		got += l.grab(n-got, reserved)
	}
	return got
}

func (l *Logs) grab(n int, reserved int64) int {
	for {
		left := l.left.Load()
		got := min(int64(n), max(0, left-reserved))
		if l.left.CompareAndSwap(left, left-got) {
			return int(got)
		}
	}
}

func (l *Logs) giveBack(n int) { l.left.Add(int64(n)) }

// finished takes note of a log that gets no more.
func (l *Logs) finished(path string, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size > 0 {
		l.sizes[path] = size
	}
}

// reclaimEvery is how often reclaim looks, at most.
const reclaimEvery = time.Second

// reclaim gives back what finished logs held that somebody has removed.
func (l *Logs) reclaim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) < reclaimEvery {
		return
	}
	for path, size := range l.sizes {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			delete(l.sizes, path)
			l.left.Add(size)
		}
	}
	l.looked = time.Now()
}
