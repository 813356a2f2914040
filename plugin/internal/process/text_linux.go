package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TextFile returns a file without a name that holds text, to be read from its
// beginning. No other command can open it.
func TextFile(text string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_NOEXEC_SEAL // a system may insist on the seal
	fd, err := unix.MemfdCreate("text", flags)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("text", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "text")
	_, err = file.WriteAt([]byte(text), 0)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
