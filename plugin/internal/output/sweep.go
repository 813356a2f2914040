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

// makeRoom makes room for want more bytes in the logs of this user, which may have most
// bytes in all. It removes the ended sessions whose retention is over, and then, while the
// room is not enough, other ended sessions, the oldest first. It returns how many bytes
// may be written now.
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
	for _, s := range sessions {
		if s.remove(root, false) {
			free += s.size
		}
	}
	for _, s := range sessions {
		if free >= want {
			break
		}
		if s.size == 0 { // it would make no room
			continue
		}
		if s.remove(root, true) {
			free += s.size
		}
	}
	return max(0, free)
}

// found is a session's folder, as makeRoom finds it.
type found struct {
	name string
	size int64 // of its logs

	// last is when the folder or a file in it was last written.
	last time.Time
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

// remove removes the session's folder, if the session has ended and either its retention is
// over or anyway is true. It reports whether it has removed the folder.
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
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil { // the session lives
		return false
	}
	content, _ := io.ReadAll(io.LimitReader(lock, 64))
	retention, err := time.ParseDuration(strings.TrimSpace(string(content)))
	if err != nil {
		retention = DefaultRetention
	}
	if !anyway && time.Since(s.last) <= retention {
		return false
	}
	return rmtree.Below(root, s.name) == nil
}
