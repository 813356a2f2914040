package service

import "golang.org/x/sys/unix"

// closeInherited makes sure that commands do not inherit descriptors of the host.
func closeInherited() {
	for fd := 3; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
}
