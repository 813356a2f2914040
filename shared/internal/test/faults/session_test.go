//go:build unix

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Meaning 10: however the session ends, nothing of it is left.
func TestMeaning10TheSessionEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *host.Client){
		"when the client closes": func(t *testing.T, bash *host.Client) {
			require.NoError(t, bash.Close())
		},
		"when the plugin is killed": func(t *testing.T, bash *host.Client) {
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
		},
		"when the plugin is asked to end": func(t *testing.T, bash *host.Client) {
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGTERM))
		},
		"when the plugin is hung up": func(t *testing.T, bash *host.Client) {
			if signal.Ignored(syscall.SIGHUP) {
				t.Skip("these tests run under nohup, or the like, and so does the plugin")
			}
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGHUP))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp, pids := plugintest.ShortDir(t), filepath.Join(t.TempDir(), "pids")
			bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}})
			job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.HardToEnd + plugintest.Forever, Env: []string{"pids=" + pids}, Mode: shared.ModeBackground})
			started := append(plugintest.Numbers(t, plugintest.AwaitFile(t, pids)), bash.PluginPID(), job.PID)
			require.Len(t, started, 7)
			end(t, bash)
			plugintest.AwaitDeath(t, started...)
			requireEmpty(t, temp)
		})
	}
	t.Run("when the host is killed", func(t *testing.T) {
		t.Parallel()
		temp, pids := plugintest.ShortDir(t), filepath.Join(t.TempDir(), "pids")
		host := exec.Command(filepath.Join(filepath.Dir(plugintest.Path), "host-example"), "run", "--", plugintest.HardToEnd+"echo $PPID >>$pids; "+plugintest.Forever)
		host.Env = append(os.Environ(), "TMPDIR="+temp, "pids="+pids)
		require.NoError(t, host.Start())
		var started []int
		plugintest.Eventually(t, "the command", func() bool {
			text, _ := os.ReadFile(pids)
			started = plugintest.Numbers(t, string(text))
			return len(started) == 6
		})
		require.NoError(t, host.Process.Kill())
		_ = host.Wait()
		plugintest.AwaitDeath(t, started...)
		requireEmpty(t, temp)
	})
}

// requireEmpty checks that nothing but logs is left in a temporary folder.
func requireEmpty(t *testing.T, temp string) {
	t.Helper()
	left := func() (names []string) {
		entries, err := os.ReadDir(temp)
		require.NoError(t, err)
		for _, entry := range entries {
			if entry.Name() != fmt.Sprintf("bash-plugin-%d", os.Getuid()) { // the logs
				names = append(names, entry.Name())
			}
		}
		return names
	}
	plugintest.Eventually(t, "an empty folder", func() bool { return len(left()) == 0 })
}

func TestCloseTellsTheCallsUnderWay(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	ready := filepath.Join(t.TempDir(), "ready")
	running := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo so far; echo $$ >" + ready + "; exec " + plugintest.Forever})
	pid := plugintest.Number(t, plugintest.AwaitFile(t, ready))
	job := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, job, "up")
	waiting := plugintest.Start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: job, Wait: 1000 * plugintest.Hang})
	})
	require.NoError(t, bash.Close())
	done := plugintest.Await(t, running)
	require.NoError(t, done.Err)
	assert.Equal(t, shared.StatusKilled, done.Result.Status)
	assert.Equal(t, shared.CauseClose, done.Result.Cause)
	assert.Equal(t, "so far\n", done.Result.Stdout.Content)
	if done = plugintest.Await(t, waiting); done.Err != nil { // it came too late
		plugintest.RequireCode(t, done.Err, shared.ErrClosed)
	} else {
		assert.Equal(t, shared.StatusKilled, done.Result.Status)
		assert.Equal(t, shared.CauseClose, done.Result.Cause)
	}
	assert.False(t, plugintest.Alive(pid))
	assert.False(t, plugintest.Alive(job))
}
