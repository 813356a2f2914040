package process

import (
	"os"
	"syscall"
)

// Spec says what to start.
type Spec struct {
	Path  string // of the program
	Args  []string
	Dir   string
	Env   []string
	Files []*os.File // stdin, stdout, stderr, and further descriptors from 3 on

	Terminal bool   // stdin is a terminal, which the program's session takes as its own
	Peers    *Peers // the groups that the program may signal, and that may signal it; nil: none

	// Restrict restricts the thread that calls it, which forks the program and ends: the
	// program inherits that, and nothing else does. nil: nothing is restricted. Linux only.
	Restrict func() error

	Rlimits map[int]uint64 // Linux only: the most that it and its descendants may set these limits to
	Cgroup  *os.File       // Linux only: the directory of the cgroup that it starts in; nil: this process's
}

// Peers are groups that may signal each other by SignalPeer, although the kernel keeps them
// apart.
type Peers struct {
	_ byte // so that each has an address of its own
}

// fork starts a program that carries a tag, on a thread. Only one fork may run at a time,
// because this process carries the tag meanwhile.
func fork(spec Spec, m tag, on *thread) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Dir: spec.Dir,
		Env: spec.Env,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.Terminal},
	}
	for _, f := range spec.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	tagged(m, func() {
		if spec.Restrict == nil {
			on.do(func() { pid, err = spec.exec(attr) })
		} else {
			pid, err = spec.execRestricted(attr)
		}
	})
	return pid, err
}
