package shared

import (
	"sync"

	"golang.org/x/sys/unix"
)

// exitWatch tells whether a child of this process has ended, whoever reaps it.
type exitWatch struct {
	mu sync.Mutex
	fd int // -1: closed, or not to be had: then the connection's end will tell
}

func watchExit(pid int) *exitWatch {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		fd = -1
	}
	return &exitWatch{fd: fd}
}

func (w *exitWatch) exited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}

func (w *exitWatch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		unix.Close(w.fd)
		w.fd = -1
	}
}
