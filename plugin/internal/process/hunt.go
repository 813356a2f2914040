package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
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
// process that it started are gone. At its start it finds Duties.Logs, before a command can
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
	logs := find(o.Logs)
	go o.watchHost()
	children, gone := readChildren(lines) // returns when the plugin has ended
	if !gone {
		h := hunt{&o, children, map[pluginID]bool{o.ID: true}, time.Now().Add(huntPatience)}
		h.endAll()
	}
	if crash, _ := os.ReadFile(o.Crash); len(crash) > 0 && !o.Sweep {
		logs.KeepCrash(o.Plugin, crash)
	}
	for _, path := range o.Remove {
		_ = os.RemoveAll(path)
	}
	if o.Sweep {
		logs.Sweep()
	}
	return nil
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

// readChildren reads the plugin's lines until the plugin ends. It returns the start of
// each child that the plugin had then, by pid, and whether the plugin has ended all of its
// processes.
func readChildren(lines *bufio.Scanner) (children map[int]uint64, gone bool) {
	children = make(map[int]uint64)
	for lines.Scan() {
		gone = lines.Text() == allGone
		var sign rune
		var pid int
		var start uint64
		_, _ = fmt.Sscanf(lines.Text(), "%c%d %d", &sign, &pid, &start) // an end has no start
		if sign == '+' {
			children[pid] = start
		} else {
			delete(children, pid)
		}
	}
	return children, gone
}

// hunt finds and kills every process that a plugin started.
type hunt struct {
	*orders
	children map[int]uint64    // start of each child that the plugin reported, by pid
	plugins  map[pluginID]bool // the plugin, and plugins that run within its commands
	deadline time.Time
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

// find lists the live processes that the plugin reported or that have its tag,
// and their descendants. A descendant with a foreign tag shows a plugin that
// runs within a command.
func (h *hunt) find() (found []info, all map[int]info) {
	all = list()
	around := tagOf(os.Getpid()).plugin() // of another plugin whose command runs this one; 0: none
	var roots []info
	for _, p := range all {
		if h.isReported(p, all) || h.plugins[tagOf(p.pid).plugin()] {
			roots = append(roots, p)
		}
	}
	found = below(roots)
	for _, p := range found {
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

// chase kills the processes that have started since all was listed, each as soon as
// it is seen: a process that forks and ends would be gone once the list is complete.
func (h *hunt) chase(all map[int]info) {
	for news := true; news && h.goesOn(); {
		news = false
		for _, pid := range slices.Backward(pids()) { // the newest are the last
			if _, seen := all[pid]; seen {
				continue
			}
			all[pid], _ = stat(pid)
			if h.plugins[tagOf(pid).plugin()] {
				news = true
				_ = send(all[pid], syscall.SIGKILL)
			}
		}
	}
}
