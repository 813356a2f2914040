package process

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// GuardianName is the program name under which RunGuardian must be called.
const GuardianName = "bash-guardian"

// Duties are the guardian's work besides ending every process that the plugin's
// commands started.
type Duties struct {
	// Host is the pid of the host; 0: none. If the plugin outlives its host, the guardian
	// ends the plugin.
	Host int

	// Remove are folders and files to remove once every process has ended.
	Remove []string

	// Crash is the file to which the plugin writes what it says as it crashes; nil: none.
	Crash *os.File `json:"-"`
}

// orders is the first line that the guardian reads.
type orders struct {
	Duties
	Plugin int // the plugin's pid
	Group  int // its process group, perhaps the host's too
	ID     pluginID
}

// Guardian is the plugin's side of its guardian. A nil Guardian does nothing.
type Guardian struct {
	id  pluginID
	pid int

	// socket never blocks. When it closes, the guardian begins its work.
	socket int

	mu      sync.Mutex   // guards the reports of the last reportDelay
	begins  map[int]bool // the pids of new children
	waiting []byte       // all other lines
}

// StartGuardian starts this program again as the guardian of this process. The
// guardian keeps this process's stdout open until it has finished: at end of file
// there, nothing of the plugin is left.
//
// The plugin writes to it through a socketpair. Unlike a pipe, a socket cannot be
// opened through /proc, so that no command can forge a line.
func StartGuardian(duties Duties) (*Guardian, error) {
	err := checkProc()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	here, there, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer unix.Close(there)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	crash := duties.Crash
	if crash == nil {
		crash = null
	}
	attr := &syscall.ProcAttr{
		Env:   os.Environ(),
		Dir:   "/",
		Files: []uintptr{null.Fd(), 1, null.Fd(), uintptr(there), crash.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	pid, err := syscall.ForkExec(program, []string{GuardianName}, attr)
	if err != nil {
		return nil, fmt.Errorf("cannot start the guardian: %w", err)
	}
	g := &Guardian{id: newPluginID(), pid: pid, socket: here, begins: make(map[int]bool)}
	first := orders{Duties: duties, Plugin: os.Getpid(), Group: syscall.Getpgrp(), ID: g.id}
	text, _ := json.Marshal(first) // never fails
	_, err = unix.Write(here, append(text, '\n'))
	return g, err
}

// socketpair returns two connected sockets that commands do not inherit. The
// first one never blocks.
func socketpair() (here, there int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	return ends[0], ends[1], unix.SetNonblock(ends[0], true)
}

// begun reports a new child of this process.
func (g *Guardian) begun(pid int) {
	g.report(func() { g.begins[pid] = true })
}

// ended reports that a child is about to be reaped: from then on its pid may be
// another process's.
func (g *Guardian) ended(pid int) {
	g.report(func() {
		if g.begins[pid] {
			delete(g.begins, pid)
			return
		}
		g.waiting = fmt.Appendf(g.waiting, "-%d\n", pid)
	})
}

// reportDelay is how long reports are gathered: each write wakes the guardian, which
// takes a processor from the commands. Until then the guardian knows a new child by its tag.
const reportDelay = 100 * time.Millisecond

// report calls add, which adds something to the reports that flush sends next.
func (g *Guardian) report(add func()) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.begins)+len(g.waiting) == 0 {
		time.AfterFunc(reportDelay, g.flush)
	}
	add()
}

// flush sends the reports. A guardian that is stopped must not block the plugin:
// reports that do not fit are dropped.
func (g *Guardian) flush() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for pid := range g.begins {
		p, _ := stat(pid) // its start tells later whether the pid was reused
		g.waiting = fmt.Appendf(g.waiting, "+%d %d\n", pid, p.start)
	}
	clear(g.begins)
	_, _ = unix.Write(g.socket, g.waiting)
	g.waiting = nil
}

// logOrders says where the plugin has its logs, on a line that begins with logsLine.
type logOrders struct {
	Folder string
	Sweep  bool
}

const logsLine = "logs "

// KeepLogs tells the guardian the folder of the logs, before the first command starts. The
// guardian keeps there what a plugin says as it crashes. With sweep it removes expired logs
// at the end.
func (g *Guardian) KeepLogs(folder string, sweep bool) {
	text, _ := json.Marshal(logOrders{Folder: folder, Sweep: sweep}) // never fails
	g.report(func() { g.waiting = fmt.Appendf(g.waiting, "%s%s\n", logsLine, text) })
	g.flush()
}

// allGone is the last line of a plugin that has ended every process.
const allGone = "gone"

// gone reports that no process is left. So the guardian need not look for any, which takes
// long if the machine has thousands.
func (g *Guardian) gone() {
	g.report(func() { g.waiting = append(g.waiting, allGone+"\n"...) })
	g.flush()
}

// is reports whether the guardian has this pid.
func (g *Guardian) is(pid int) bool { return g != nil && g.pid == pid }
