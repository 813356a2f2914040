package process

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// GuardianName is the program name under which RunGuardian must be called.
const GuardianName = "bash-guardian"

// Duties is what the guardian does once the plugin is gone, besides ending
// every process of its session.
type Duties struct {
	Host   int      // pid; where it ends and the plugin does not follow, the guardian ends the plugin. 0: none
	Remove []string // folders and files, removed last
	Logs   string   // folder whose expired logs are removed then; "": none
}

// orders is what the guardian is told at its start.
type orders struct {
	Duties
	Plugin  int // its pid
	Group   int // its process group, which may be the host's too
	Session session
}

// hostPatience is how long the plugin may outlive its host.
const hostPatience = 1 * time.Second

// StartGuardian starts this program again as the guardian of this process and
// returns the record for NewTable. The guardian keeps this process's stderr
// open while it works: whoever waits for its end of file waits for a clean
// machine.
func StartGuardian(duties Duties) (*Record, error) {
	if err := checkProc(); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	record, err := newRecord()
	if err != nil {
		return nil, err
	}
	here, there, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer here.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	text, err := json.Marshal(orders{Duties: duties, Plugin: os.Getpid(), Group: syscall.Getpgrp(), Session: record.session})
	if err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{
		Env:   os.Environ(),
		Dir:   "/",
		Files: []uintptr{null.Fd(), null.Fd(), 2, here.Fd(), record.file.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if record.guardian, err = syscall.ForkExec(program, []string{GuardianName}, attr); err != nil {
		return nil, fmt.Errorf("cannot start the guardian: %w", err)
	}
	record.alive = there
	_, err = there.Write(append(text, '\n'))
	return record, err
}

// IsGuardian reports whether this process was started by StartGuardian.
func IsGuardian() bool { return os.Args[0] == GuardianName }

// RunGuardian is the guardian's main function. It returns when the plugin and
// everything it started are gone. It calls sweep for the folder of Duties.Logs.
func RunGuardian(sweep func(logs string)) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	pipe := os.NewFile(3, "plugin")
	decoder := json.NewDecoder(pipe)
	var o orders
	if err := decoder.Decode(&o); err != nil {
		return err
	}
	record, err := mapRecord(os.NewFile(4, "record"))
	if err != nil {
		return err
	}
	go o.watchHost()
	_, _ = io.Copy(io.Discard, pipe) // until the plugin ends
	o.hunt(record).endAll()
	for _, path := range o.Remove {
		_ = os.RemoveAll(path)
	}
	if o.Logs != "" {
		sweep(o.Logs)
	}
	return nil
}

// watchHost ends a plugin that does not follow its host, being stopped or
// stuck.
func (o *orders) watchHost() {
	if o.Host == 0 {
		return
	}
	plugin, err := stat(o.Plugin)
	if err != nil {
		return
	}
	if host, err := stat(o.Host); err == nil {
		awaitExit(host)
	}
	time.Sleep(hostPatience)
	_ = send(plugin, syscall.SIGKILL)
}

// forkPatience is how long the guardian hunts what goes on forking.
const forkPatience = time.Minute

// hunt is the end of a plugin's session and of those within it, of plugins that
// run in its commands.
type hunt struct {
	*orders
	record   *Record
	sessions map[session]bool
	begin    time.Time
	met      map[int]uint64 // the start of each process that was killed, by pid
	last     time.Time      // when the last of them was met
}

func (o *orders) hunt(record *Record) *hunt {
	now := time.Now()
	return &hunt{o, record, map[session]bool{o.Session: true}, now, make(map[int]uint64), now}
}

// endAll kills until several looks in a row find nothing, or for long nothing
// but what does not end.
func (h *hunt) endAll() {
	for clean := 0; clean < 3 && h.goesOn(); clean++ {
		if clean > 0 {
			time.Sleep(time.Millisecond)
		}
		found, all := h.find()
		for _, p := range found {
			h.meet(p)
		}
		sendGroups(found, h.Group, syscall.SIGKILL)
		if len(found) > 0 && !killEach(found) {
			clean = -1
			h.chase(all)
		}
	}
}

func (h *hunt) goesOn() bool {
	return time.Since(h.last) < 2*killPatience && time.Since(h.begin) < forkPatience
}

func (h *hunt) meet(p info) {
	if start, ok := h.met[p.pid]; !ok || start != p.start {
		h.met[p.pid], h.last = p.start, time.Now()
	}
}

// find lists the live processes of the sessions: those recorded or marked, and
// their descendants. A descendant with another mark shows a session within.
func (h *hunt) find() (found []info, all map[int]info) {
	all = list()
	entries := h.record.entries()
	tree := newTree(all)
	tree.leave(os.Getpid()) // a child of the plugin's too, which may have a mark when it dies
	marks := make(map[int]uint64, len(all))
	for pid, p := range all {
		marks[pid] = markOf(pid)
		if owns(entries, p, all) || h.sessions[sessionOf(marks[pid])] {
			tree.take(pid)
		}
	}
	around := sessionOf(markOf(os.Getpid())) // where the plugin itself runs within another's command
	for _, p := range tree.taken {
		if s := sessionOf(marks[p.pid]); s != 0 && s != around {
			h.sessions[s] = true
		}
	}
	return tree.taken, all
}

// chase kills what has come since all was listed, each as soon as it is seen: a
// process that forks and ends is gone when all the others are listed again.
func (h *hunt) chase(all map[int]info) {
	for news := true; news && h.goesOn(); {
		news = false
		for _, pid := range slices.Backward(pids()) { // the newest are the last
			if _, seen := all[pid]; seen || pid == os.Getpid() {
				continue
			}
			all[pid] = info{}
			if !h.sessions[sessionOf(markOf(pid))] {
				continue
			}
			news = true
			if p, err := stat(pid); err == nil {
				_ = send(p, syscall.SIGKILL)
				h.meet(p)
			}
		}
	}
}
