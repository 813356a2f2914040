package process

import (
	"os"
	"syscall"
)

// Spec says what to start.
type Spec struct {
	Path string // of the program
	Args []string
	Dir  string
	Env  []string

	// Files are stdin, stdout, stderr, and further descriptors from 3 on.
	Files []*os.File

	// Terminal says that stdin is a terminal, which becomes that of the program's session.
	Terminal bool

	// Peers are the groups that the program may signal, and that may signal it; nil: none.
	Peers *Peers

	// Restrict restricts the thread that calls it, which forks the program and ends. The
	// program inherits the restriction, and nothing else does. nil: nothing is restricted.
	// Linux only.
	Restrict func() error

	// Rlimits are the highest values to which the program and its descendants may set these
	// limits. Linux only.
	Rlimits map[int]uint64

	// Cgroup is the directory of the cgroup in which the program starts; nil: this process's.
	// Linux only.
	Cgroup *os.File
}

// fork starts a program that carries a tag. on is the thread that forks it, unless the
// program is restricted. Only one fork may run at a time, because this process carries the
// tag meanwhile.
func fork(spec Spec, carried tag, on *thread) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Dir: spec.Dir,
		Env: spec.Env,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.Terminal},
	}
	for _, f := range spec.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	tagged(carried, func() {
		if spec.Restrict == nil {
			on.do(func() { pid, err = spec.exec(attr) })
		} else {
			pid, err = spec.execRestricted(attr)
		}
	})
	return pid, err
}
