package process

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB

const execTime = 0 // of no use: the system tells names alone

// stat reads one process.
func stat(pid int) (info, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return info{}, err
	}
	return info{
		pid:   int(k.Proc.P_pid),
		ppid:  int(k.Eproc.Ppid),
		pgrp:  int(k.Eproc.Pgid),
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		dead:  k.Proc.P_stat == zombie,
	}, nil
}

// pids lists the numbers of all processes.
func pids() []int {
	var all []int
	procs, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	for _, k := range procs {
		all = append(all, int(k.Proc.P_pid))
	}
	return all
}

// family returns a function that lists the children that a process has now.
func family() func(p info) []info {
	children := make(map[int][]info)
	for _, p := range list() {
		children[p.ppid] = append(children[p.ppid], p)
	}
	return func(p info) []info { return children[p.pid] }
}

// commandLine returns the name of a process's program: the system does not tell
// the arguments of other processes.
func commandLine(pid int, _ time.Time) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(k.Proc.P_comm[:])
}

// exec starts the program.
func (spec Spec) exec(attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec(spec.Path, spec.Args, attr)
}

// execRestricted fails: nothing can be restricted.
func (spec Spec) execRestricted(*syscall.ProcAttr) (pid int, err error) {
	return 0, errors.ErrUnsupported
}

const maxrssUnit = 1 // of Rusage.Maxrss

func ownPeak() int64 { return 0 }

func pss(p info) int64 { return p.rss }

func threadsOfAll() int { return 0 }

func isTracedByThis(int) bool { return false }

// Waiting always returns "": macOS does not tell.
func (g *Group) Waiting(string) string { return "" }

// isPassing always returns false: macOS does not tell.
func isPassing(info) bool { return false }

func checkProc() error { return nil }

// tagged only forks: macOS has nothing that children inherit and others can read.
func tagged(_ tag, fork func()) { fork() }

func tagOf(int) tag { return 0 }

// becomeSubreaper does nothing: all orphans go to launchd.
func becomeSubreaper() {}

func adopted(int) []int { return nil }

func threadID() int { return 0 }

// members lists the live processes of a group: its process group and the
// descendants of that.
func (g *Group) members() []info {
	all := list()
	leads := len(g.table.roots(g)[g]) > 0
	if _, taken := all[g.PID]; isClosed(g.gone) || taken && !leads {
		return nil // the process group is empty, and its number may be or is reused
	}
	var roots []info
	for _, p := range all {
		if p.pgrp == g.PID {
			roots = append(roots, p)
		}
	}
	return below(roots)
}

// releaseLeaderLocked is called when a leader is reaped. It has to watch the other
// members, because they are not children of this process.
func (t *Table) releaseLeaderLocked(g *Group) {
	go func() {
		for members := g.members(); len(members) > 0; members = g.members() {
			awaitEnd(members[0].pid)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.releaseLocked(g)
	}()
}

// hasEnded reports whether a child that is not reaped has ended.
func hasEnded(pid int) bool {
	p, err := stat(pid)
	return err != nil || p.dead
}

// awaitEnd waits for the end of a process, which need not be a child. It may return
// too early.
func awaitEnd(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		time.Sleep(10 * time.Millisecond) // there may be too many open files
		return
	}
	defer unix.Close(queue)
	end := unix.Kevent_t{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD, Fflags: unix.NOTE_EXIT}
	_, _ = unix.Kevent(queue, []unix.Kevent_t{end}, make([]unix.Kevent_t, 1), nil)
}

// send signals a process unless its pid was reused.
func send(p info, sig syscall.Signal) error {
	if !still(p) {
		return nil
	}
	return syscall.Kill(p.pid, sig)
}

// TextFile returns a file without a name that holds text, to be read from its
// beginning.
func TextFile(text string) (*os.File, error) {
	file, err := os.CreateTemp("", "bash-plugin-")
	if err != nil {
		return nil, err
	}
	_, err = file.WriteAt([]byte(text), 0)
	err = errors.Join(err, os.Remove(file.Name()))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (g *Group) hold() {}

func (g *Group) release() {}

// SignalPeer does nothing: no command is confined.
func (g *Group) SignalPeer(int, func() bool, int, syscall.Signal) (syscall.Errno, bool) {
	return 0, false
}
