package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// TextFile returns a file in memory that holds text, to be read from its beginning.
func TextFile(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("bash-plugin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "memfd")
	if _, err := file.WriteAt([]byte(text), 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
