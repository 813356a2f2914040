package confine

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// kernel returns the version of Landlock, 0 if there is none, and whether there are
// seccomp filters.
func kernel() (abi int, filters bool) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == 0 {
		abi = int(version)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	err := failure(unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))))
	return abi, err == nil && architectures[runtime.GOARCH] != 0
}

// prepare makes the rulesets of layers that the kernel can keep, and Restrict.
func (p *Policy) prepare(layers []shared.Confine, abi int, bash string) error {
	for _, c := range layers {
		if err := p.addRuleset(c, abi, bash); err != nil {
			return err
		}
	}
	rulesets, filter := p.rulesets, slices.ContainsFunc(layers, func(c shared.Confine) bool { return c.NoNetwork })
	p.Restrict = func() error { return restrict(rulesets, filter) }
	return nil
}

func restrict(rulesets []int, filter bool) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, fd := range rulesets {
		if err := failure(unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0)); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil || !filter {
		return err
	}
	return noNetwork()
}

// failure returns the error of a raw system call, without its number, which would mean
// something else as the error of a start.
func failure(_, _ uintptr, errno unix.Errno) error {
	if errno != 0 {
		return errors.New("the kernel refuses a confinement: " + errno.Error())
	}
	return nil
}

// capabilities are what root keeps. With some others it could undo everything, for
// example by a kernel module.
const capabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_SETFCAP

// dropCapabilities leaves this thread those of the capabilities that it has. Because
// of no_new_privs, executing a program as root does not bring the others back.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // the second one is of higher numbers: nothing of it is kept
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	keep := sets[0].Permitted & capabilities
	sets = [2]unix.CapUserData{{Effective: sets[0].Effective & keep, Permitted: keep}}
	return unix.Capset(&header, &sets[0])
}
