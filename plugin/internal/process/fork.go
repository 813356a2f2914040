package process

import (
	"os"
	"runtime"
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

	// Restrict restricts the thread that calls it, which forks the program and then ends: the
	// program inherits that, and nothing else does. A thread that lived on would be in reach of
	// what is restricted as it is. nil: nothing is restricted.
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

// execRestricted is exec on a thread of its own, which ends with it: soon after the program
// begins, no thread of this process is restricted as it is.
func (spec Spec) execRestricted(attr *syscall.ProcAttr) (pid int, err error) {
	type result struct {
		pid      int
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlock it, so that the thread ends with this goroutine
		var r result
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		r.err = spec.Restrict()
		if r.err == nil {
			r.pid, r.err = spec.exec(attr)
		}
	}()
	r := <-done
	if r.panicked != nil {
		panic(r.panicked) // where it concerns one command
	}
	return r.pid, r.err
}
