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

// Cgroups makes the cgroups of a plugin: below that of its process, or of one above it, as
// the kernel allows no controllers below one that has processes.
type Cgroups struct {
	once   sync.Once
	prefix string // of their paths; "": this user cannot make any
	made   atomic.Int64
}

func (c *Cgroups) open() {
	text, _ := os.ReadFile("/proc/self/cgroup")
	_, own, _ := strings.Cut("\n"+string(text), "\n0::")
	own, _, _ = strings.Cut(own, "\n")
	dir := filepath.Join(cgroupRoot, own)
	for set(dir, "cgroup.subtree_control", "+memory +pids") != nil || unix.Access(dir+"/cgroup.procs", unix.W_OK) != nil {
		if dir = filepath.Dir(dir); len(dir) < len(cgroupRoot) {
			return
		}
	}
	c.prefix = fmt.Sprintf("%s/bash-plugin-%d-", dir, os.Getpid())
	left, _ := filepath.Glob(dir + "/bash-plugin-*")
	for _, path := range left {
		var pid int
		_, _ = fmt.Sscanf(filepath.Base(path), "bash-plugin-%d-", &pid)
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) { // this plugin was killed
			_ = os.Remove(path)
		}
	}
}

// add makes a cgroup with these limits and returns its directory; nil: that is not possible.
func (c *Cgroups) add(r shared.Resources) *os.File {
	if c.once.Do(c.open); c.prefix == "" {
		return nil
	}
	dir := c.prefix + strconv.FormatInt(c.made.Add(1), 10)
	err := os.Mkdir(dir, 0o755)
	if r.Memory > 0 {
		_ = set(dir, "memory.swap.max", "0") // there may be no swap
		err = errors.Join(err, set(dir, "memory.max", fmt.Sprint(r.Memory)), set(dir, "memory.oom.group", "1"))
	}
	if r.Processes > 0 {
		err = errors.Join(err, set(dir, "pids.max", fmt.Sprint(r.Processes)))
	}
	file, openErr := os.Open(dir)
	if errors.Join(err, openErr) != nil {
		_ = os.Remove(dir)
		return nil
	}
	return file
}

func set(dir, name, value string) error { return os.WriteFile(dir+"/"+name, []byte(value), 0) }

// value reads a number from one of the cgroup's files, where a name may stand before it; 0
// if there is none.
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
