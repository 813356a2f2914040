package output

import (
	"errors"
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

// lockSession marks a folder as that of a live session for as long as the
// returned file is open in some process.
func lockSession(folder string, retention time.Duration) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for range 1000 { // a sweep may be looking at it
		if err = flock(lock); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err == nil {
		_, err = lock.WriteString(retention.String())
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// Sweep removes the folders that dead sessions left below dir ("": the
// default folder) longer ago than their retention, and never a live session's.
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
	if err != nil { // a session that is just starting, or something else
		if errors.Is(err, fs.ErrNotExist) && now.Sub(lastChange(folder)) > DefaultRetention {
			os.RemoveAll(folder)
		}
		return
	}
	defer lock.Close()
	if flock(lock) != nil {
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

// lastChange is when something in folder was last written.
func lastChange(folder string) time.Time {
	var last time.Time
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	if last.IsZero() {
		if info, err := os.Lstat(folder); err == nil {
			last = info.ModTime()
		}
	}
	return last
}
