package instance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/plugintest"
)

// hang bounds every wait in these tests: only a broken instance reaches it.
const hang = 20 * time.Second

// handshake is the line of a plugin that is ready.
const handshake = "echo '1|1|unix|/nowhere|netrpc|'"

// escape starts a process that leaves the plugin's process group, and waits until
// it has.
const escape = "setsid sh -c 'echo $$ >PID; exec sleep 1000' & until [ -s PID ]; do sleep 0.01; done"

// config makes one for a plugin that is a shell script.
func config(t *testing.T, script string) Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return Config{
		Path:      path,
		Env:       os.Environ(),
		Handshake: plugin.HandshakeConfig{ProtocolVersion: 1},
		Plugins:   plugin.PluginSet{},
		Logger:    hclog.NewNullLogger(),
	}
}

func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	require.Eventually(t, happened, hang, 2*time.Millisecond, what)
}

// awaitPID returns the pid that a script writes to a file.
func awaitPID(t *testing.T, path string) int {
	t.Helper()
	var pid int
	eventually(t, "a pid in "+path, func() bool {
		text, _ := os.ReadFile(path)
		var err error
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	return pid
}

func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !plugintest.Alive(pid) })
}

func awaitEnd(t *testing.T, i *Instance) {
	t.Helper()
	select {
	case <-i.Ended():
	case <-time.After(hang):
		require.FailNow(t, "the instance does not end")
	}
}

// A script's child, goroutines, descriptors and the process itself: nothing of a
// start that has failed is left. This test is not parallel, because it counts what
// the whole process has.
func TestAFailedStartLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		leaves bool // a process that has left the group
	}{
		"that hangs":                             {"sleep 1000 & echo $! >PID; wait", false},
		"that hangs, its child redirected":       {"sleep 1000 >/dev/null 2>&1 & echo $! >PID; wait", false},
		"that printed something else":            {"sleep 1000 & echo $! >PID; echo hello; wait", false},
		"that ended":                             {"sleep 1000 & echo $! >PID", false},
		"of another version":                     {"sleep 1000 & echo $! >PID; echo '1|99|unix|/nowhere|netrpc|'; wait", false},
		"whose child has left the process group": {escape + "; wait", true},
		"that ended, its child in another group": {escape + "; exit 1", true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			cfg := config(t, strings.ReplaceAll(c.script, "PID", file))
			goroutines, descriptors := runtime.NumGoroutine(), countDescriptors(t)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error)
			go func() {
				_, err := Start(ctx, cfg)
				failed <- err
			}()
			child := awaitPID(t, file)
			cancel()
			require.Error(t, <-failed)
			if c.leaves {
				defer syscall.Kill(child, syscall.SIGKILL)
			} else {
				awaitDeath(t, child)
			}
			eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+1 }) // the context's timer
			eventually(t, "no zombie is left", func() bool { return len(children(t)) == 0 })
			assert.LessOrEqual(t, countDescriptors(t), descriptors)
		})
	}
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}

// children lists those of this process, zombies included.
func children(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var pids []string
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}

func TestStart(t *testing.T) {
	t.Parallel()
	i, err := Start(t.Context(), config(t, handshake+"; echo ready >&2; exec sleep 1000"))
	require.NoError(t, err)
	assert.Equal(t, "/nowhere", i.Addr.String())
	assert.NotNil(t, i.TLS)
	assert.True(t, plugintest.Alive(i.PID()))
	assert.False(t, IsStopped(i.PID()))
	i.Kill()
	awaitEnd(t, i)
	assert.False(t, plugintest.Alive(i.PID()))
	i.Kill() // again
}

func TestKillEndsTheProcessGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	i, err := Start(t.Context(), config(t, "sleep 1000 & echo $! >"+file+"; "+handshake+"; wait"))
	require.NoError(t, err)
	child := awaitPID(t, file)
	i.Kill()
	awaitEnd(t, i)
	awaitDeath(t, child)
}

// A helper that clears up behind the plugin holds its stdout: Ended waits for it.
func TestEndedWaitsForWhoHoldsStdout(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	i, err := Start(t.Context(), config(t, strings.ReplaceAll(escape, "PID", file)+"; "+handshake+"; exec sleep 1000"))
	require.NoError(t, err)
	helper := awaitPID(t, file)
	i.Kill()
	awaitDeath(t, i.PID())
	select {
	case <-i.Ended():
		assert.Fail(t, "the helper still works")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, syscall.Kill(helper, syscall.SIGKILL))
	awaitEnd(t, i)
}

func TestAbandonWaitsForNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	i, err := Start(t.Context(), config(t, strings.ReplaceAll(escape, "PID", file)+"; "+handshake+"; exec sleep 1000"))
	require.NoError(t, err)
	helper := awaitPID(t, file)
	defer syscall.Kill(helper, syscall.SIGKILL)
	i.Abandon()
	awaitEnd(t, i)
}

// A start leaves no folder for sockets behind, and the plugin is told of none.
func TestNoFolderForSockets(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	file := filepath.Join(t.TempDir(), "env")
	i, err := Start(t.Context(), config(t, "env >"+file+"; "+handshake+"; exec sleep 1000"))
	require.NoError(t, err)
	defer i.Abandon()
	env, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.NotContains(t, string(env), plugin.EnvUnixSocketDir)
	assert.Contains(t, string(env), "PLUGIN_CLIENT_CERT=")
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// buffer is a log that a test may read while others write.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// What a plugin writes on its stderr is logged, whatever it is.
func TestStderrIsLogged(t *testing.T) {
	t.Parallel()
	log := new(buffer)
	cfg := config(t, `echo '{"@message":5}' >&2; echo '{"@level":"info","@message":"up"}' >&2; `+handshake+`; printf last >&2`)
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace, DisableTime: true})
	i, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	awaitEnd(t, i)
	for _, line := range []string{`[DEBUG] plugin: {"@message":5}`, "[INFO]  plugin: up", "[DEBUG] plugin: last", "[DEBUG] the plugin has ended"} {
		assert.Contains(t, log.String(), line)
	}
}
