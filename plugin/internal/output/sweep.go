package output

import (
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
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
func Sweep(dir string) { makeRoom(cmp.Or(dir, DefaultLogDir()), math.MaxInt64, 0) }

// makeRoom does what Sweep does. If want more bytes in the logs of this user below dir
// would make more than most, it also removes ended sessions, the oldest first. It
// returns how many more bytes there may be then.
func makeRoom(dir string, most, want int64) (free int64) {
	if checkDir(dir) != nil {
		return most
	}
	sessions := findSessions(dir)
	free = most
	for _, s := range sessions {
		free -= s.size
	}
	for _, full := range []bool{false, true} {
		for _, s := range sessions {
			if full && (free >= want || s.size == 0) {
				continue
			}
			if s.remove(full) {
				free += s.size
			}
		}
	}
	return max(0, free)
}

// session is a session's folder.
type session struct {
	folder string
	size   int64     // of its logs
	last   time.Time // when the folder or a file in it was last written
}

// findSessions lists the sessions of this user below dir, the oldest first.
func findSessions(dir string) []session {
	var sessions []session
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.IsDir() || !strings.HasPrefix(entry.Name(), sessionPrefix) || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			continue
		}
		s := session{folder: filepath.Join(dir, entry.Name()), last: info.ModTime()}
		files, _ := os.ReadDir(s.folder)
		for _, file := range files {
			info, err := file.Info()
			if err != nil {
				continue
			}
			if file.Name() != lockName {
				s.size += info.Size()
			}
			if info.ModTime().After(s.last) {
				s.last = info.ModTime()
			}
		}
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, func(a, b session) int { return a.last.Compare(b.last) })
	return sessions
}

// remove removes an ended session if its retention is over, or anyway. It returns
// whether it has.
func (s session) remove(anyway bool) bool {
	lock, err := os.OpenFile(filepath.Join(s.folder, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil { // a session that is just starting, or not a session's folder
		return false
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false
	}
	content, _ := io.ReadAll(io.LimitReader(lock, 64))
	retention, err := time.ParseDuration(strings.TrimSpace(string(content)))
	if err != nil {
		retention = DefaultRetention
	}
	return (anyway || time.Since(s.last) > retention) && os.RemoveAll(s.folder) == nil
}
