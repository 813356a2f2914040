package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// stopTime is how long a host is stopped. go-plugin's multiplexer asks every 30 s
// whether the other side lives, and by itself gives up 10 s later: make soak waits
// for that.
func stopTime() time.Duration {
	if os.Getenv("SOAK") != "" {
		return 45 * time.Second
	}
	return time.Second
}

// A host that is stopped for a while, as by Ctrl-Z in its shell, keeps its
// plugin and its commands, however long that is.
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
	time.Sleep(stopTime())
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, os.WriteFile(gate, []byte("done\n"), 0))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Equal(t, "done\n", string(rest))
	require.NoError(t, cmd.Wait())
}

// It does not lose what is written to it meanwhile either, live or as a Result,
// even if the system and the multiplexer have no room for it.
func TestAStoppedHostLosesNoOutput(t *testing.T) {
	t.Parallel()
	const size = 5_000_000
	long := strings.Repeat("x", 70_000) // in the Result, together more than a reply holds
	for name, c := range map[string]struct {
		flags, words []string
		want         func(t *testing.T, stdout []byte)
	}{
		"live": {nil, nil, func(t *testing.T, stdout []byte) {
			assert.Equal(t, size, len(stdout))
		}},
		"a large Result": {[]string{"-json"}, []string{long, long}, func(t *testing.T, stdout []byte) {
			var r shared.Result
			require.NoError(t, json.Unmarshal(stdout, &r))
			assert.EqualValues(t, size, r.Stdout.TotalBytes)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			status := filepath.Join(t.TempDir(), "status")
			write := fmt.Sprintf("echo begun >%s; sleep 0.2; head -c %d /dev/zero | tr '\\0' x; echo ${PIPESTATUS[*]} >%s; exit 3 #", g, size, status)
			args := append([]string{"run"}, c.flags...)
			args = append(append(args, write), c.words...)
			cmd := program(t, "host-example", args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			g.read(t)
			require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
			time.Sleep(stopTime())
			require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
			_ = cmd.Wait()
			assert.Equal(t, 3, cmd.ProcessState.ExitCode())
			assert.Empty(t, stderr.String())
			ended, err := os.ReadFile(status)
			require.NoError(t, err)
			assert.Equal(t, "0 0\n", string(ended), "nobody stops who writes")
			c.want(t, stdout.Bytes())
		})
	}
}
