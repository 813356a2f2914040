package shared

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// watchExit returns a function that tells whether a child of this process has
// ended, whoever reaps it.
func watchExit(pid int) func() bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return func() bool { return false } // the connection's end will tell
	}
	watch := &struct{ fd int }{fd}
	runtime.AddCleanup(watch, func(fd int) { unix.Close(fd) }, fd)
	return func() bool {
		poll := []unix.PollFd{{Fd: int32(watch.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	}
}
