package service

import "golang.org/x/sys/unix"

// closeInherited makes sure that commands do not inherit descriptors of the host.
func closeInherited() {
	_ = unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
}
