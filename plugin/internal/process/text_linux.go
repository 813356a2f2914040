package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// anonymousFile returns an empty file without a name, which needs no disk.
func anonymousFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("bash-plugin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd"), nil
}
