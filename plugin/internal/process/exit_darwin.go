package process

import "syscall"

// forkExec starts a program as the leader of a new session.
func forkExec(path string, args []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	pid, err = syscall.ForkExec(path, args, attr)
	return pid, -1, err
}

// awaitLeader does not wait: reaping does.
func awaitLeader(int, int) {}

// hasEnded reports whether a child has ended that is not reaped.
func hasEnded(pid int) bool {
	p, err := stat(pid)
	return err != nil || p.dead
}

// awaitExit waits for the end of any process, not only of a child.
func awaitExit(p info) { pollStill(p) }

// send signals a process, if it is still the one that p tells of.
func send(p info, sig syscall.Signal) error { return sendByPID(p, sig) }
