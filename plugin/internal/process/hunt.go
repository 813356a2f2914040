package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"bashplugin/plugin/internal/rmtree"
)

// huntPatience bounds the hunt if processes hang in the kernel or go on forking.
const huntPatience = 10 * time.Second

// hostPatience is how long the plugin may outlive its host.
const hostPatience = 1 * time.Second

// IsGuardian reports whether this process was started by StartGuardian.
func IsGuardian() bool { return os.Args[0] == GuardianName }

// Logs is a folder of logs, as the guardian needs it.
type Logs interface {
	KeepCrash(plugin int, lastWords []byte)
	Sweep()
}

// RunGuardian is the guardian's main function. It returns when the plugin and every
// process that it started are gone. find opens a folder of logs, before a command can
// put something else there.
func RunGuardian(find func(logs string) Logs) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	lines := bufio.NewScanner(os.NewFile(3, "plugin"))
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	var o orders
	if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
		return err
	}
	go o.watchHost()
	r := readReports(lines, find) // returns when the plugin has ended
	if !r.gone {
		newHunt(&o, r.children).endAll()
	}
	lastWords := readCrash()
	if len(lastWords) > 0 && r.logs != nil && !r.sweep {
		r.logs.KeepCrash(o.Plugin, lastWords)
	}
	for _, path := range o.Remove {
		_ = rmtree.Path(path)
	}
	if r.logs != nil && r.sweep {
		r.logs.Sweep()
	}
	return nil
}

// maxCrash bounds what is kept of what a plugin says as it crashes, in bytes.
const maxCrash = 1 << 20

// readCrash returns what the plugin has written to Duties.Crash.
func readCrash() []byte {
	file := os.NewFile(4, "crash")
	defer file.Close()
	text, _ := io.ReadAll(io.NewSectionReader(file, 0, maxCrash))
	return text
}

// watchHost kills a plugin that outlives its host, because it is stopped or stuck.
func (o *orders) watchHost() {
	if o.Host == 0 {
		return
	}
	plugin, err := stat(o.Plugin)
	if err != nil || os.Getppid() != o.Plugin {
		return // the plugin has ended
	}
	if host, err := stat(o.Host); err == nil {
		for still(host) {
			awaitEnd(host.pid)
		}
	}
	time.Sleep(hostPatience)
	_ = send(plugin, syscall.SIGKILL)
}

// reports are what a plugin has said by its end.
type reports struct {
	children map[int]uint64 // start of each child that it had, by pid
	gone     bool           // it has ended all of its processes
	logs     Logs           // nil: it has none
	sweep    bool
}

// readReports reads the plugin's lines until the plugin ends.
func readReports(lines *bufio.Scanner, find func(logs string) Logs) *reports {
	r := &reports{children: make(map[int]uint64)}
	for lines.Scan() {
		r.gone = lines.Text() == allGone
		text, isLogs := strings.CutPrefix(lines.Text(), logsLine)
		if isLogs {
			var o logOrders
			_ = json.Unmarshal([]byte(text), &o)
			r.logs = find(o.Folder)
			r.sweep = o.Sweep
			continue
		}
		var sign rune
		var pid int
		var start uint64
		_, _ = fmt.Sscanf(lines.Text(), "%c%d %d", &sign, &pid, &start) // an end has no start
		if sign == '+' {
			r.children[pid] = start
		} else {
			delete(r.children, pid)
		}
	}
	return r
}

// hunt finds and kills every process that a plugin started.
type hunt struct {
	*orders
	children map[int]uint64    // start of each child that the plugin reported, by pid
	plugins  map[pluginID]bool // the plugin, and plugins that run within its commands
	seen     map[int]bool      // the pids of the processes that were found
	begun    uint64            // when the guardian started, which no command did before
	deadline time.Time
}

func newHunt(o *orders, children map[int]uint64) *hunt {
	self, _ := stat(os.Getpid())
	return &hunt{
		orders:   o,
		children: children,
		plugins:  map[pluginID]bool{o.ID: true},
		seen:     make(map[int]bool),
		begun:    self.start,
		deadline: time.Now().Add(huntPatience),
	}
}

// endAll kills until several looks in a row find nothing, or only processes of
// other users.
func (h *hunt) endAll() {
	for clean := 0; clean < 3 && h.goesOn(); clean++ {
		found, all := h.find()
		if len(found) > 0 && !kill(found, h.Group) {
			clean = -1
			h.chase(all)
		}
		time.Sleep(time.Millisecond)
	}
}

func (h *hunt) goesOn() bool { return time.Now().Before(h.deadline) }

// find lists the live processes that the plugin reported, its tagged orphans, and the
// descendants of all these. A descendant with a foreign tag shows a plugin that runs
// within a command.
func (h *hunt) find() (found []info, all map[int]info) {
	all = list()
	around := tagOf(os.Getpid()).plugin() // of another plugin whose command runs this one; 0: none
	var roots []info
	for _, p := range all {
		if h.isReported(p, all) || h.isOurs(p) {
			roots = append(roots, p)
		}
	}
	found = below(roots)
	for _, p := range found {
		h.seen[p.pid] = true
		if i := tagOf(p.pid).plugin(); i != 0 && i != around {
			h.plugins[i] = true
		}
	}
	return found, all
}

// isReported reports whether p or the leader of its process group is one of the
// plugin's children. It returns false if that pid was reused.
func (h *hunt) isReported(p info, all map[int]info) bool {
	for _, id := range []int{p.pid, p.pgrp} {
		start, known := h.children[id]
		holder, taken := all[id]
		if known && p.start >= start && (!taken || holder.start == start) {
			return true
		}
	}
	return false
}

// isOurs reports whether p has the tag and comes from the plugin: it is an orphan, which
// the kernel gave to the parent of the guardian as well, or a child of a process that was
// found. The tag alone proves nothing: other processes can write it.
func (h *hunt) isOurs(p info) bool {
	isOrphan := p.ppid == os.Getppid() || p.ppid == h.Plugin
	return p.start >= h.begun && (isOrphan || h.seen[p.ppid]) && h.plugins[tagOf(p.pid).plugin()]
}

// chase kills the processes that have started since all was listed, each as soon as
// it is seen: a process that forks and ends would be gone once the list is complete.
func (h *hunt) chase(all map[int]info) {
	for news := true; news && h.goesOn(); {
		news = false
		for _, pid := range slices.Backward(pids()) { // the newest are the last
			if _, known := all[pid]; known {
				continue
			}
			p, _ := stat(pid)
			all[pid] = p
			if h.isOurs(p) {
				news = true
				h.seen[pid] = true
				_ = send(p, syscall.SIGKILL)
			}
		}
	}
}
