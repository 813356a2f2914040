package output

import (
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"bashplugin/plugin/internal/rmtree"
)

// makeRoom does what Sweep does. If want more bytes in the logs of this user would make
// more than most, it also removes ended sessions, the oldest first. It returns how many
// more bytes there may be then.
func (f *Folder) makeRoom(most, want int64) (free int64) {
	root, err := f.open(false)
	if err != nil {
		return most
	}
	sessions := findSessions(root)
	free = most
	for _, s := range sessions {
		free -= s.size
	}
	for _, full := range []bool{false, true} {
		for _, s := range sessions {
			if full && (free >= want || s.size == 0) {
				continue
			}
			if s.remove(root, full) {
				free += s.size
			}
		}
	}
	return max(0, free)
}

// found is a session's folder, as makeRoom finds it.
type found struct {
	name string
	size int64     // of its logs
	last time.Time // when the folder or a file in it was last written
}

// findSessions lists the sessions of this user, the oldest first.
func findSessions(root *os.Root) []found {
	var sessions []found
	names, _ := list(root)
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || !info.IsDir() || !strings.HasPrefix(name, sessionPrefix) {
			continue
		}
		if info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			continue
		}
		s := found{name: name, last: info.ModTime()}
		s.count(root)
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, func(a, b found) int { return a.last.Compare(b.last) })
	return sessions
}

// count looks at the files in the folder.
func (s *found) count(root *os.Root) {
	folder, err := openBelow(root, s.name)
	if err != nil {
		return
	}
	defer folder.Close()
	names, _ := list(folder)
	for _, name := range names {
		info, err := folder.Lstat(name)
		if err != nil {
			continue
		}
		if name != lockName {
			s.size += info.Size()
		}
		if info.ModTime().After(s.last) {
			s.last = info.ModTime()
		}
	}
}

// remove removes an ended session if its retention is over, or anyway. It returns
// whether it has.
func (s found) remove(root *os.Root, anyway bool) bool {
	below, err := openBelow(root, s.name)
	if err != nil {
		return false
	}
	defer below.Close()
	lock, err := below.OpenFile(lockName, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil { // a session that is just starting, or not a session's folder
		return false
	}
	defer lock.Close()
	info, err := lock.Stat()
	if err != nil || !info.Mode().IsRegular() || syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false
	}
	content, _ := io.ReadAll(io.LimitReader(lock, 64))
	retention, err := time.ParseDuration(strings.TrimSpace(string(content)))
	if err != nil {
		retention = DefaultRetention
	}
	return (anyway || time.Since(s.last) > retention) && rmtree.Below(root, s.name) == nil
}
