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

	Terminal bool // stdin is a terminal, which the program's session takes as its own

	Thread  *Thread        // forks the program, which inherits what restricts the thread; nil: any thread does
	Rlimits map[int]uint64 // Linux only: the most that it and its descendants may set these limits to
	Cgroup  *os.File       // Linux only: the directory of the cgroup that it starts in; nil: this process's
}

// fork starts a program that carries a tag. Only one fork may run at a time, because this
// process carries the tag meanwhile.
func fork(spec Spec, m tag) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Dir: spec.Dir,
		Env: spec.Env,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.Terminal},
	}
	for _, f := range spec.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	tagged(m, func() {
		spec.Thread.do(func() { pid, err = spec.exec(attr) })
	})
	return pid, err
}
