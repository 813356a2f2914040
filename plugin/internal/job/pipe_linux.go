package job

import (
	"os"

	"golang.org/x/sys/unix"
)

const pendingRequest = unix.TIOCINQ // FIONREAD

// pipe is os.Pipe without a poller for the writing end, which only the command uses.
// The pipe is larger than usual if the system allows that.
func pipe() (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	write = os.NewFile(uintptr(fds[1]), "|1")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		write.Close()
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), write, nil
}
