package main

import "golang.org/x/sys/unix"

// closeInherited keeps the descriptors that the host leaked from the commands.
func closeInherited() {
	for fd := 3; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
}
