package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// execTime is of no use: the system tells names alone.
const execTime = 0

// commandLine returns the name of a process's program: the system does not tell
// the arguments of other processes.
func commandLine(pid int, _ time.Time) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(k.Proc.P_comm[:])
}

// isPassing always returns false: macOS does not tell.
func isPassing(info) bool { return false }

// isRelay always returns false: macOS does not tell.
func isRelay(info) bool { return false }
