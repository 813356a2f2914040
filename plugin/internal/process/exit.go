package process

import (
	"errors"
	"syscall"
	"time"
)

// wait reaps a child, waiting for its end where it lives.
func wait(pid int) Status {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return Status{Code: -1} // somebody else reaped it
		}
		break
	}
	if status.Signaled() {
		return Status{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Status{Code: status.ExitStatus()}
}

// reap reaps a child that has ended.
func reap(pid int) {
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
}

// exists reports whether pid is, or may be, a process, be it a dead one.
func exists(pid int) bool {
	_, err := stat(pid)
	return err == nil || isShort(err)
}

// still reports whether p lives and its pid was not reused: whether it may be
// signalled.
func still(p info) bool {
	now, err := stat(p.pid)
	return err == nil && now.start == p.start && !now.dead
}

// mayLive reports whether p lives, or that cannot be told.
func mayLive(p info) bool {
	now, err := stat(p.pid)
	return isShort(err) || err == nil && now.start == p.start && !now.dead
}

// isShort reports whether an error is about what this process has no more of,
// as descriptors, and says nothing of what it asked about.
func isShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// sendByPID signals a process where there is no safer way.
func sendByPID(p info, sig syscall.Signal) error {
	if !still(p) {
		return nil
	}
	return syscall.Kill(p.pid, sig)
}

// killEach kills processes and reports whether there are some, none of which
// the system lets this one signal: they are another user's.
func killEach(ps []info) (denied bool) {
	denied = len(ps) > 0
	for _, p := range ps {
		if !errors.Is(send(p, syscall.SIGKILL), syscall.EPERM) {
			denied = false
		}
	}
	return denied
}

// pollStill waits for a process's end where nothing tells of it.
func pollStill(p info) {
	for pause := 10 * time.Millisecond; mayLive(p); pause = min(2*pause, 80*time.Millisecond) {
		time.Sleep(pause)
	}
}
