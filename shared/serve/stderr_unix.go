//go:build unix

package serve

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropStderr gives up the pipe to the host's reader of stderr: a command could
// open it through /proc and write there.
func dropStderr() error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	return unix.Dup2(int(null.Fd()), int(os.Stderr.Fd()))
}
