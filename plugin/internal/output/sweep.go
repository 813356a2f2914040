package output

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	sessionPrefix = "session-"
	lockName      = ".lock" // its content is the session's retention
)

// lockSession marks a folder as that of a live session until the returned file is
// closed.
func lockSession(folder string, retention time.Duration) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX) // waits for a sweep that is looking at it
	if err == nil {
		_, err = lock.WriteString(retention.String())
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// Sweep removes the folders below dir ("": the default folder) of sessions that ended
// longer ago than their retention. It never removes the folder of a live session.
func Sweep(dir string) {
	if dir == "" {
		dir = DefaultLogDir()
	}
	if checkDir(dir) != nil {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), sessionPrefix) {
			sweepSession(filepath.Join(dir, entry.Name()), time.Now())
		}
	}
}

func sweepSession(folder string, now time.Time) {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		return
	}
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil { // a session that is just starting, or not a session's folder
		return
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	content, _ := io.ReadAll(io.LimitReader(lock, 64))
	retention, err := time.ParseDuration(strings.TrimSpace(string(content)))
	if err != nil {
		retention = DefaultRetention
	}
	if now.Sub(lastChange(folder)) > retention {
		os.RemoveAll(folder)
	}
}

// lastChange returns when folder or a file in it was last written.
func lastChange(folder string) time.Time {
	var last time.Time
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			if info, err := entry.Info(); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
		return nil
	})
	return last
}
