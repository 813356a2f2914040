package process

import (
	"syscall"
	"time"
)

// hasEnded reports whether a child has ended that is not reaped.
func hasEnded(pid int) bool {
	p, err := stat(pid)
	return err != nil || p.dead
}

// awaitExit waits for the end of any process, not only of a child.
func awaitExit(p info) {
	for pause := 10 * time.Millisecond; still(p); pause = min(2*pause, 80*time.Millisecond) {
		time.Sleep(pause)
	}
}

// send signals a process unless its pid was reused.
func send(p info, sig syscall.Signal) error {
	if !still(p) {
		return nil
	}
	return syscall.Kill(p.pid, sig)
}
