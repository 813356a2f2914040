//go:build unix

package instance_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/plugintest"
)

// handshake is the line of a plugin that is ready.
const handshake = "echo '1|1|unix|/nowhere|netrpc|'"

// config makes one for a plugin that is a shell script.
func config(t *testing.T, script string) instance.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return instance.Config{
		Path:      path,
		Env:       os.Environ(),
		Handshake: plugin.HandshakeConfig{ProtocolVersion: 1},
		Plugins:   plugin.PluginSet{},
		Stderr:    instance.NewLog(hclog.NewNullLogger()),
	}
}

// awaitPID returns the pid that a script writes to a file.
func awaitPID(t *testing.T, path string) int {
	t.Helper()
	return plugintest.Number(t, plugintest.AwaitFile(t, path))
}

// A script's child, goroutines, descriptors and the process itself: nothing of a
// start that has failed is left. This test is not parallel, because it counts what
// the whole process has.
func TestAFailedStartLeavesNothing(t *testing.T) {
	for name, script := range map[string]string{
		"that hangs":                       "sleep 1000 & echo $! >PID; wait",
		"that hangs, its child redirected": "sleep 1000 >/dev/null 2>&1 & echo $! >PID; wait",
		"that printed something else":      "sleep 1000 & echo $! >PID; echo hello; wait",
		"that ended":                       "sleep 1000 & echo $! >PID",
		"of another version":               "sleep 1000 & echo $! >PID; echo '1|99|unix|/nowhere|netrpc|'; wait",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			cfg := config(t, strings.ReplaceAll(script, "PID", file))
			goroutines, descriptors := runtime.NumGoroutine(), countDescriptors(t)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error)
			go func() {
				_, err := instance.Start(ctx, cfg)
				failed <- err
			}()
			child := awaitPID(t, file)
			cancel()
			require.Error(t, <-failed)
			plugintest.AwaitDeath(t, child)
			plugintest.Eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+1 }) // this one
			plugintest.Eventually(t, "no zombie is left", func() bool { return len(children(t)) == 0 })
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
	i, err := instance.Start(t.Context(), config(t, handshake+"; exec sleep 1000"))
	require.NoError(t, err)
	assert.Equal(t, "/nowhere", i.Addr.String())
	assert.NotNil(t, i.TLS)
	assert.True(t, plugintest.Alive(i.PID))
	assert.False(t, instance.IsStopped(i.PID))
	assert.False(t, i.AwaitEnd(0))
	i.Kill()
	assert.True(t, i.AwaitEnd(plugintest.Hang))
	assert.False(t, plugintest.Alive(i.PID))
	i.Kill() // again
}

func TestIsStopped(t *testing.T) {
	t.Parallel()
	i, err := instance.Start(t.Context(), config(t, handshake+"; exec sleep 1000"))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(i.PID, syscall.SIGSTOP))
	plugintest.Eventually(t, "it is stopped", func() bool { return instance.IsStopped(i.PID) })
	i.Kill()
	assert.True(t, i.AwaitEnd(plugintest.Hang), "although it is stopped")
}

func TestKillEndsTheProcessGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	i, err := instance.Start(t.Context(), config(t, "sleep 1000 & echo $! >"+file+"; "+handshake+"; wait"))
	require.NoError(t, err)
	child := awaitPID(t, file)
	i.Kill()
	assert.True(t, i.AwaitEnd(plugintest.Hang))
	plugintest.AwaitDeath(t, child)
}

// A helper that clears up behind the plugin holds its stdout: that is waited for.
func TestAwaitEndWaitsForAGuardian(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	guardian := strings.ReplaceAll("setsid sh -c 'echo $$ >PID; exec sleep 1000' 2>/dev/null & until [ -s PID ]; do sleep 0.01; done; ", "PID", file)
	i, err := instance.Start(t.Context(), config(t, guardian+handshake+"; exec sleep 1000"))
	require.NoError(t, err)
	i.Kill()
	plugintest.AwaitDeath(t, i.PID)
	assert.False(t, i.AwaitEnd(50*time.Millisecond), "the guardian still works")
	require.NoError(t, syscall.Kill(awaitPID(t, file), syscall.SIGKILL))
	assert.True(t, i.AwaitEnd(plugintest.Hang))
}

// What a plugin writes on its stderr is logged, whatever it is.
func TestStderrIsLogged(t *testing.T) {
	t.Parallel()
	log := new(plugintest.Buffer)
	cfg := config(t, `echo '{"@message":5}' >&2; echo '{"@level":"info","@message":"up"}' >&2; `+handshake+`; printf last >&2`)
	cfg.Stderr = instance.NewLog(hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace, DisableTime: true}))
	i, err := instance.Start(t.Context(), cfg)
	require.NoError(t, err)
	require.True(t, i.AwaitEnd(plugintest.Hang))
	assert.Equal(t, "[DEBUG] {\"@message\":5}\n[INFO]  up\n[DEBUG] last\n", log.String())
}
