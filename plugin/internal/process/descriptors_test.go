package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process lives also where this one has no descriptor left to look.
func TestStillWithoutDescriptors(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	require.NoError(t, sleep.Start())
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	p, err := stat(sleep.Process.Pid)
	require.NoError(t, err)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 32, Max: old.Max}))
	var files []*os.File
	for err == nil {
		var file *os.File
		if file, err = os.Open(os.DevNull); err == nil {
			files = append(files, file)
		}
	}
	lives := still(p)
	for _, file := range files {
		file.Close()
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
	require.True(t, lives)
}
