package job

import "golang.org/x/sys/unix"

// unblock has writes to a pipe wait for room again, where a program of the
// command has had them fail instead. Programs that do that, as node, do it to
// all that write there: others would lose output. Descriptor fd of process pid
// is the writing end of the pipe that is read from read; otherwise, or where
// that cannot be seen to, unblock does nothing and returns false.
func unblock(read, pid, fd int) bool {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(pidfd)
	write, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return false
	}
	defer unix.Close(write)
	var a, b unix.Stat_t
	if unix.Fstat(read, &a) != nil || unix.Fstat(write, &b) != nil || a.Dev != b.Dev || a.Ino != b.Ino {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(write), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK != 0 {
		_, err = unix.FcntlInt(uintptr(write), unix.F_SETFL, flags&^unix.O_NONBLOCK)
	}
	return err == nil
}
