package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns a signal's name as bash knows it, "" if it has none.
func SignalName(sig syscall.Signal) string { return unix.SignalName(sig) }
