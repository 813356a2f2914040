//go:build unix

package instance

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own, because a terminal's Ctrl-C is for the host, and
// makes a kill reach the whole group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
