package process

import (
	"bytes"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// send signals a process unless its pid was reused.
func send(p info, sig syscall.Signal) error {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	if !still(p) {
		return nil
	}
	return unix.PidfdSendSignal(pidfd, sig, nil, 0)
}

// isTracedByThis reports whether a process is traced by a thread of this process.
func isTracedByThis(pid int) bool {
	text, _ := readProc("%d/status", pid)
	_, rest, _ := bytes.Cut(text, []byte("\nTracerPid:"))
	var tracer int
	_, _ = fmt.Sscan(string(rest), &tracer)
	_, err := os.Lstat(fmt.Sprintf("/proc/self/task/%d", tracer))
	return err == nil
}
