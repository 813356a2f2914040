package job

import (
	"os"

	"golang.org/x/sys/unix"
)

const pendingRequest = unix.TIOCINQ // FIONREAD

// pipe is os.Pipe, but only the plugin's end has a poller: the command's end stays
// blocking. ours is the index of the plugin's end: 0 to read output, 1 to write input. A pipe
// for output is larger than usual if the system allows that.
func pipe(ours int) (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if ours == 0 {
		_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}
