package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host that is stopped for a while, as by Ctrl-Z in its shell, keeps its
// plugin and its commands, however long that is. go-plugin's multiplexer asks
// every 30 s whether the other side lives, and by itself gives up 10 s later.
func TestAStoppedHostLosesNothing(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	cmd := program(t, "host-example", "run", "echo begun; read line <"+gate+"; echo $line")
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewReader(pipe)
	begun, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", begun)

	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(45 * time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, os.WriteFile(gate, []byte("done\n"), 0))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Equal(t, "done\n", string(rest))
	require.NoError(t, cmd.Wait())
}
