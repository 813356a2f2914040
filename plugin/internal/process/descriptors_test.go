package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where this process has no descriptor left to look, another one has not ended,
// and is not signalled either: its pid may be a third one's.
func TestLookingWithoutDescriptors(t *testing.T) {
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
	lives, same, taken := mayLive(p), still(p), exists(p.pid)
	for _, file := range files {
		file.Close()
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
	require.True(t, lives)
	require.True(t, taken)
	require.False(t, same)
}
