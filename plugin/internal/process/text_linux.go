package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TextFile returns a file without a name that holds text, to be read from its
// beginning. No other command can open it.
func TextFile(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("command", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "command")
	_, err = file.WriteAt([]byte(text), 0)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
