package confine

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// Rights of Landlock, in groups.
const (
	executing   = unix.LANDLOCK_ACCESS_FS_EXECUTE
	reading     = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | executing
	writing     = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	moving      = unix.LANDLOCK_ACCESS_FS_REFER // and linking, from one directory to another
	controlling = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	removing    = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	creating    = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	changing = writing | moving | removing | creating

	// makingDevices is what no rule grants: root would reach a disk through a device that it
	// makes.
	makingDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	// ofFiles are the rights that a rule for something else than a directory may grant.
	ofFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | executing | writing | controlling
)

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// needed is what bash and dynamic programs need to read.
var needed = []string{
	"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
	"/proc", "/sys/devices/system", "/sys/fs/cgroup",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime",
	"/etc/hosts", "/etc/resolv.conf", "/etc/services", "/etc/gitconfig",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

// known are the rights that each version of Landlock knows: all those up to its newest. Later
// versions know all that are used here.
var known = []uint64{
	0,
	moving - 1,
	moving<<1 - 1,
	controlling - 1,
	controlling - 1,
	controlling<<1 - 1,
}

// rule allows rights for a file, or below a folder.
type rule struct {
	path   string
	rights uint64

	// exact says that the path must not lead through a symbolic link.
	exact bool
}

// rights returns the rights that a command has in a layer only where one of the layer's rules
// grants them.
func rights(c shared.Confine, version int) (handled uint64) {
	if c.ReadOnly {
		handled |= changing | controlling | makingDevices
	}
	if c.Private {
		handled |= reading | moving
	}
	return handled & known[min(version, len(known)-1)]
}

// rules returns the rules of a layer that handles some rights. bash, temp and terminal are as
// in Plan.Restrict.
func rules(c shared.Confine, handled uint64, bash, temp, terminal string) (all []rule) {
	add := func(rights uint64, exact bool, paths ...string) {
		for _, path := range paths {
			if handled&rights != 0 && path != "" {
				all = append(all, rule{path: path, rights: handled & rights, exact: exact})
			}
		}
	}
	add(reading|changing, true, c.Writable...)
	add(reading|changing, true, temp)
	add(reading, true, c.Readable...)
	add(reading|writing|controlling, false, devices...)
	add(reading, false, needed...)
	add(reading, false, bash)
	if terminal != "" {
		add(reading|writing|controlling, false, terminal, "/dev/tty")
	}
	if !c.ReadOnly {
		add(moving, false, "/")
	}
	return all
}

// restrictFiles puts this thread into a layer: a domain of Landlock.
func restrictFiles(c shared.Confine, version int, bash, temp, terminal string) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights(c, version)}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if attr.Handled_access_fs|attr.Scoped == 0 {
		return nil
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(ruleset))
	for _, r := range rules(c, attr.Handled_access_fs, bash, temp, terminal) {
		err := r.addTo(ruleset)
		if err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	return failure(unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0))
}

// addTo adds the rule to a ruleset. It leaves out a path that does not exist.
func (r rule) addTo(ruleset uintptr) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // so nothing is allowed there
	}
	defer unix.Close(fd)
	if r.exact {
		place, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if place != r.path {
			return nil
		}
	}
	var file unix.Stat_t
	err = unix.Fstat(fd, &file)
	if err != nil {
		return err
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: r.rights, Parent_fd: int32(fd)}
	if file.Mode&unix.S_IFMT != unix.S_IFDIR {
		attr.Allowed_access &= ofFiles
	}
	return failure(unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE,
		ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0))
}
