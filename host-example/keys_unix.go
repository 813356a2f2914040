//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// keySignals are the signals of Ctrl-C and Ctrl-Z.
func keySignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTSTP} }

// isTyped waits 50 ms for keys at most, and reports whether there are some.
func isTyped() bool {
	stdin := unix.PollFd{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}
	n, _ := unix.Poll([]unix.PollFd{stdin}, 50)
	return n > 0
}
