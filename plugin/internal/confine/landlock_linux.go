package confine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// Rights of Landlock, in groups. No rule grants making: through a device that it makes
// root would reach a disk.
const (
	executing   = unix.LANDLOCK_ACCESS_FS_EXECUTE
	reading     = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | executing
	writing     = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	moving      = unix.LANDLOCK_ACCESS_FS_REFER // and linking, from one directory to another
	controlling = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	making      = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	changing    = writing | moving | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

	// ofFiles are the rights that a rule for something else than a directory may grant.
	ofFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | executing | writing | controlling
)

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// system is what bash and dynamic programs need to read.
var system = []string{
	"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/proc", "/sys/devices/system", "/sys/fs/cgroup",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/alternatives", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime",
	"/etc/hosts", "/etc/resolv.conf", "/etc/services", "/etc/gitconfig", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

// known are the rights that each version of Landlock knows. Later ones know all that
// are used here.
var known = []uint64{0, moving - 1, moving<<1 - 1, controlling - 1, controlling - 1, controlling<<1 - 1}

// addRuleset makes the ruleset of a layer that the kernel can keep.
func (p *Policy) addRuleset(c shared.Confine, abi int, bash string) error {
	var attr unix.LandlockRulesetAttr
	if c.ReadOnly {
		attr.Handled_access_fs |= changing | controlling | making
	}
	if c.Private {
		attr.Handled_access_fs |= reading | moving
	}
	attr.Handled_access_fs &= known[min(abi, len(known)-1)]
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if attr.Handled_access_fs|attr.Scoped == 0 {
		return nil
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	p.rulesets = append(p.rulesets, int(fd))
	handled := attr.Handled_access_fs // from now on nothing has these but by a rule
	err := errors.Join(
		allow(fd, handled&(reading|changing), true, slices.Concat(c.Writable, []string{p.temp})...),
		allow(fd, handled&reading, true, c.Readable...),
		allow(fd, handled&(reading|writing|controlling), false, devices...),
		allow(fd, handled&reading, false, slices.Concat(system, []string{bash})...),
	)
	if !c.ReadOnly {
		err = errors.Join(err, allow(fd, handled&moving, false, "/"))
	}
	return err
}

// allow grants rights below paths. A path that does not exist is left out, and so is
// one that leads through a symbolic link, if exact is set.
func allow(ruleset uintptr, rights uint64, exact bool, paths ...string) error {
	if rights == 0 {
		return nil
	}
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
		var stat unix.Stat_t
		if err = unix.Fstat(fd, &stat); stat.Mode&unix.S_IFMT != unix.S_IFDIR {
			rule.Allowed_access &= ofFiles
		}
		straight := func() bool {
			place, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			return place == path
		}
		if err == nil && (!exact || straight()) {
			err = failure(unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0))
		}
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
