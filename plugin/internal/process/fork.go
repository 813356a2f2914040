package process

import (
	"errors"
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

	Terminal bool // stdin is a terminal, which the program's session takes as its own

	Restrict func() error   // called on the thread that forks and ends then: the program inherits what it does to that; nil: nothing
	Rlimits  map[int]uint64 // Linux only: the most that it and its descendants may set these limits to
	Cgroup   *os.File       // Linux only: the directory of the cgroup that it starts in; nil: this process's
}

// fork starts a program that carries a tag, and calls begun with its pid. Only one
// fork may run at a time, because this process carries the tag meanwhile.
func fork(spec Spec, m tag, begun func(pid int)) (err error) {
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.Terminal}}
	for _, f := range spec.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	start := func() {
		var pid int
		tagged(m, func() { pid, err = spec.exec(attr) })
		if err == nil {
			begun(pid)
		}
	}
	if spec.Restrict == nil && len(spec.Rlimits) == 0 {
		start()
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it, so that the thread ends with this goroutine
		if spec.Restrict != nil {
			err = spec.Restrict()
		}
		if err == nil {
			start() // calls begun before the thread ends, because its child looks like an orphan then
		}
	}()
	<-done
	return err
}

// TextFile returns a file without a name that holds text, to be read from its
// beginning.
func TextFile(text string) (*os.File, error) {
	file, err := os.CreateTemp("", "bash-plugin-")
	if err != nil {
		return nil, err
	}
	_, err = file.WriteAt([]byte(text), 0)
	return file, errors.Join(err, os.Remove(file.Name()))
}
