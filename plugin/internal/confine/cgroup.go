package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// cgroupRoot is where cgroups are, if version 2 has the controllers of memory and processes.
const cgroupRoot = "/sys/fs/cgroup"

// Cgroups makes the cgroups of a plugin. They are below the cgroup of its process, or below
// one above that, because the kernel allows no controllers below a cgroup that has processes.
type Cgroups struct {
	once sync.Once
	made atomic.Int64

	// prefix is that of their paths; "": this user cannot make any.
	prefix string
}

// open finds out where cgroups can be made, and removes those of plugins that were killed.
func (c *Cgroups) open() {
	dir := usableCgroup()
	if dir == "" {
		return
	}
	c.prefix = fmt.Sprintf("%s/bash-plugin-%d-", dir, os.Getpid())
	left, _ := filepath.Glob(dir + "/bash-plugin-*")
	for _, path := range left {
		var pid int
		_, _ = fmt.Sscanf(filepath.Base(path), "bash-plugin-%d-", &pid)
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = os.Remove(path)
		}
	}
}

// usableCgroup returns the directory of the lowest cgroup around this process below which
// commands can be limited, "" if there is none.
func usableCgroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	_, own, _ := strings.Cut("\n"+string(text), "\n0::")
	own, _, _ = strings.Cut(own, "\n")
	dir := filepath.Join(cgroupRoot, own)
	for len(dir) >= len(cgroupRoot) {
		err := set(dir, "cgroup.subtree_control", "+memory +pids")
		if err == nil && unix.Access(dir+"/cgroup.procs", unix.W_OK) == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// add makes a cgroup with these limits and returns its directory, nil if that is not possible.
func (c *Cgroups) add(r shared.Resources) *os.File {
	c.once.Do(c.open)
	if c.prefix == "" {
		return nil
	}
	dir := c.prefix + strconv.FormatInt(c.made.Add(1), 10)
	err := os.Mkdir(dir, 0o755)
	if r.Memory > 0 {
		_ = set(dir, "memory.swap.max", "0") // there may be no swap
		maxErr := set(dir, "memory.max", fmt.Sprint(r.Memory))
		groupErr := set(dir, "memory.oom.group", "1")
		err = errors.Join(err, maxErr, groupErr)
	}
	if r.Processes > 0 {
		err = errors.Join(err, set(dir, "pids.max", fmt.Sprint(r.Processes)))
	}
	file, openErr := os.Open(dir)
	if err != nil || openErr != nil {
		_ = os.Remove(dir)
		return nil
	}
	return file
}

// set writes a file of a cgroup.
func set(dir, name, value string) error { return os.WriteFile(dir+"/"+name, []byte(value), 0) }

// value returns a number from one of the cgroup's files: the first one, or the one on the line
// that begins with name. It returns 0 if there is none.
func (l *Limits) value(file, name string) int64 {
	if l.Cgroup == nil {
		return 0
	}
	text, _ := os.ReadFile(l.Cgroup.Name() + "/" + file)
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+name)
	rest, _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	n, _ := strconv.ParseInt(rest, 10, 64)
	return n
}
