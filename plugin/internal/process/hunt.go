package process

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// huntPatience bounds the hunt if processes hang in the kernel or go on forking.
const huntPatience = 10 * time.Second

// cleanLooks is how many looks in a row must find nothing to kill before the hunt is over.
const cleanLooks = 3

// hunt finds and kills every process that a plugin started.
type hunt struct {
	*orders

	// children has the children that the plugin reported, by pid, and the start of each.
	children map[int]uint64

	// plugins has the plugin, and the plugins that run within its commands.
	plugins map[pluginID]bool

	seen     map[int]bool // the pids of all processes found
	begun    uint64       // when the guardian started, before any command
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
	clean := 0
	for clean < cleanLooks && h.goesOn() {
		found, all := h.find()
		denied := kill(found, h.Group)
		if len(found) == 0 || denied {
			clean++
		} else {
			clean = 0
			h.chase(all)
		}
		time.Sleep(time.Millisecond)
	}
}

func (h *hunt) goesOn() bool { return time.Now().Before(h.deadline) }

// find lists the live processes that the plugin reported, its tagged orphans, and the
// descendants of all these. If a descendant has another plugin's tag, that plugin runs
// within a command.
func (h *hunt) find() (found []info, all map[int]info) {
	all = list()
	around := tagOf(os.Getpid()).plugin() // the plugin whose command runs this one; 0: none
	var roots []info
	for _, p := range all {
		if h.isReported(p, all) || h.isOurs(p) {
			roots = append(roots, p)
		}
	}
	found = below(roots)
	for _, p := range found {
		h.seen[p.pid] = true
		inner := tagOf(p.pid).plugin()
		if inner != 0 && inner != around {
			h.plugins[inner] = true
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

// isOurs reports whether p has the tag and comes from the plugin. Such a process is an
// orphan, whose parent is the plugin or, once that has ended, the guardian's parent; or it is
// a child of a process that was found. The tag alone proves nothing: other processes can
// write it.
func (h *hunt) isOurs(p info) bool {
	isOrphan := p.ppid == os.Getppid() || p.ppid == h.Plugin
	return p.start >= h.begun && (isOrphan || h.seen[p.ppid]) && h.plugins[tagOf(p.pid).plugin()]
}

// chase kills the processes that have started since all was listed, until no more come.
func (h *hunt) chase(all map[int]info) {
	for h.goesOn() {
		found := h.killNew(all)
		if !found {
			return
		}
	}
}

// killNew kills the plugin's processes that are not in all, and adds them to it. It kills
// each as soon as it sees it: if a process forks and ends, it would be gone once a list were
// complete. It returns false if there are none.
func (h *hunt) killNew(all map[int]info) (found bool) {
	for _, pid := range slices.Backward(pids()) { // the newest are the last
		_, known := all[pid]
		if known {
			continue
		}
		p, _ := stat(pid)
		all[pid] = p
		if h.isOurs(p) {
			found = true
			h.seen[pid] = true
			_ = send(p, syscall.SIGKILL)
		}
	}
	return found
}
