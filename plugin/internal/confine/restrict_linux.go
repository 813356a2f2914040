package confine

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// kernel returns what this kernel can keep.
func kernel() (s system) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == 0 {
		s.landlock = int(version)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	err := failure(unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))))
	_, known := machines[runtime.GOARCH]
	s.filters = err == nil && known
	return s
}

// Restrict restricts the thread that calls it, for good. bash is the path of the program that
// the thread will start, temp the command's TMPDIR and terminal the file of its terminal, "" if
// there is none. The caller must Add the Listener, which may be nil, to Listeners, and Remove it.
func (p Plan) Restrict(bash, temp, terminal string) (*Listener, error) {
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	supported := kernel()
	for _, c := range p.layers {
		err = restrictFiles(c, supported.landlock, bash, temp, terminal)
		if err != nil {
			return nil, err
		}
	}
	if p.Confines() {
		err = dropCapabilities()
	}
	if err != nil {
		return nil, err
	}
	if !supported.filters {
		return nil, nil
	}
	return p.restrictCalls(supported)
}

// restrictCalls installs the filter of the plan.
func (p Plan) restrictCalls(supported system) (*Listener, error) {
	a := aims{
		confined:  p.Confines(),
		noNetwork: slices.ContainsFunc(p.layers, func(c shared.Confine) bool { return c.NoNetwork }),
		listened:  p.asSession && supported.scopesSignals(),
	}
	if a.listened {
		listener, err := listen(filter(machines[runtime.GOARCH], a))
		if err == nil {
			return listener, nil
		}
		a.listened = false // the command's signals reach its own processes alone
	}
	_, err := seccomp(filter(machines[runtime.GOARCH], a), 0)
	return nil, err
}

// failure returns the error of a raw system call. It leaves out the errno, which would mean
// something else as the error of a start.
func failure(_, _ uintptr, errno unix.Errno) error {
	if errno != 0 {
		return errors.New("the kernel refuses a confinement: " + errno.Error())
	}
	return nil
}

// capabilities are what root keeps. With some others it could undo everything, for
// example by a kernel module.
const capabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE |
	1<<unix.CAP_NET_RAW | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_SETFCAP

// dropCapabilities takes from this thread all that are not in capabilities. Because of
// no_new_privs, executing a program as root does not bring them back.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // the second one is of higher numbers: nothing of it is kept
	err := unix.Capget(&header, &sets[0])
	if err != nil {
		return err
	}
	keep := sets[0].Permitted & capabilities
	sets = [2]unix.CapUserData{{Effective: sets[0].Effective & keep, Permitted: keep}}
	return unix.Capset(&header, &sets[0])
}
