package process

import (
	"errors"
	"syscall"
)

// exec starts the program.
func (spec Spec) exec(attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec(spec.Path, spec.Args, attr)
}

// execRestricted fails: nothing can be restricted.
func (spec Spec) execRestricted(*syscall.ProcAttr) (pid int, err error) {
	return 0, errors.ErrUnsupported
}
