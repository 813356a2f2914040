//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Every call of Close returns only when nothing is left, not just the first one.
func TestClosingAgainWaits(t *testing.T) {
	t.Parallel()
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, LogDir: t.TempDir()})
	require.NoError(t, err)
	pid := plugintest.Background(t, bash, "trap '' TERM; echo deaf; while :; do "+plugintest.Forever+" & wait; done").PID
	plugintest.AwaitText(t, bash, pid, "deaf")
	first := plugintest.Start(func() (*shared.Result, error) { return nil, bash.Close() })
	plugintest.Eventually(t, "the first Close", func() bool {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid})
		return err != nil
	})
	require.NoError(t, bash.Close())
	assert.False(t, plugintest.Alive(pid))
	require.NoError(t, plugintest.Await(t, first).Err)
	require.NoError(t, bash.Close())
}

// Close waits for what a plugin that crashed has left, too, also where no other
// has taken its place.
func TestCloseWaitsForTheEndOfACrash(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarts: %v", restarts), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "plugin")
			require.NoError(t, os.Link(plugintest.Path, path))
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir()})
			require.NoError(t, err)
			crowd := newFaultCrowd(t)
			plugintest.Background(t, bash, crowd.command(`for i in {1..50}; do bash -c "$p" & done; wait`))
			crowd.await(50)
			plugin := bash.PluginPID()
			guardian := plugintest.Guardian(t, plugin)
			if !restarts {
				require.NoError(t, os.Remove(path))
			}
			require.NoError(t, syscall.Kill(plugin, syscall.SIGKILL))
			for err = shared.ErrCrashed; errors.Is(err, shared.ErrCrashed); { // until the death is seen
				_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
			}
			assert.Equal(t, restarts, err == nil, "%v", err)
			require.NoError(t, bash.Close())
			assert.False(t, crowd.read(), "commands are left")
			plugintest.AwaitDeath(t, guardian) // it closes its files before it is gone
		})
	}
}

// What Close is ending is not left over.
func TestAResultDuringCloseHasNoLeftovers(t *testing.T) {
	t.Parallel()
	for i := range 6 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			bash := plugintest.Launch(t)
			call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo a; " + plugintest.Forever + "; echo b"})
			time.Sleep(time.Duration(3*i) * time.Millisecond) // Close comes at another moment each time
			require.NoError(t, bash.Close())
			if done := plugintest.Await(t, call); done.Err == nil {
				assert.Equal(t, shared.StatusKilled, done.Result.Status)
				assert.Empty(t, done.Result.Leftover)
			}
		})
	}
}

// Not even until the garbage collector comes.
func TestCloseLeavesNoDescriptor(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before int
	for i := range 4 {
		bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, LogDir: t.TempDir()})
		require.NoError(t, err)
		require.NoError(t, bash.Close())
		if now := descriptors(t); i == 0 {
			before = now
		} else {
			assert.LessOrEqual(t, now, before)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}

// The end of the context does not stop a Kill, however long its grace.
func TestKillIsWaitedForBeyondItsContext(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "trap '' TERM; echo important; while :; do "+plugintest.Forever+" & wait; done").PID
	plugintest.AwaitText(t, bash, pid, "important")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := bash.Kill(ctx, shared.KillRequest{PID: pid, Grace: 3500 * time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, "important\n", r.Stdout.Content)
	assert.Equal(t, "SIGKILL", r.Signal)
}

// A call that fails because of a crash does not wait for the plugin that another
// call starts.
func TestACallFailsAtACrashDuringTheNextStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.Link(plugintest.Path, path))
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir(), StartTimeout: plugintest.Hang})
	require.NoError(t, err)
	defer bash.Close()
	var calls []<-chan plugintest.Outcome
	for range 6 {
		calls = append(calls, plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: plugintest.Forever}))
	}
	// The next plugin does not get ready before the test ends.
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	plugintest.Run(t, bash, "true")
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
	plugintest.RequireCode(t, plugintest.Await(t, calls[5]).Err, shared.ErrCrashed)
	ctx, cancel := context.WithCancel(t.Context())
	again := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "true"})
	for _, call := range calls[:5] {
		plugintest.RequireCode(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
	}
	cancel()
	assert.ErrorIs(t, plugintest.Await(t, again).Err, context.Canceled)
}

func TestCloseOfAStoppedPlugin(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	ready := filepath.Join(t.TempDir(), "ready")
	running := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "setsid sleep 1000 & echo $$ $! >" + ready + "; wait"})
	pids := append(plugintest.Numbers(t, plugintest.AwaitFile(t, ready)), bash.PluginPID())
	plugintest.Stop(t, bash.PluginPID())
	require.NoError(t, bash.Close(), "in the 5 s that it has")
	plugintest.RequireErrorIsOneOf(t, plugintest.Await(t, running).Err, shared.ErrClosed, shared.ErrCrashed)
	for _, pid := range pids {
		assert.False(t, plugintest.Alive(pid))
	}
}

func TestCloseOfACrashedPlugin(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Number(t, plugintest.Run(t, bash, "setsid sleep 1000 >/dev/null 2>&1 & echo $!").Stdout.Content)
	plugintest.Crash(t, bash)
	require.NoError(t, bash.Close())
	plugintest.AwaitDeath(t, pid)
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	plugintest.RequireCode(t, err, shared.ErrClosed)
}

func TestCallsAfterCloseFail(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, plugintest.Forever).PID
	require.NoError(t, bash.Close())
	assert.False(t, plugintest.Alive(pid))
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	plugintest.RequireCode(t, err, shared.ErrClosed)
	_, err = bash.Check(t.Context(), shared.CheckRequest{PID: pid})
	plugintest.RequireCode(t, err, shared.ErrClosed)
	_, err = bash.Kill(t.Context(), shared.KillRequest{PID: pid})
	plugintest.RequireCode(t, err, shared.ErrClosed)
	require.NoError(t, bash.Close(), "again")
}

func TestCloseByManyAtOnce(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "trap '' TERM; "+plugintest.Forever).PID
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.NoError(t, bash.Close()) })
	}
	wg.Wait()
	plugintest.AwaitDeath(t, pid)
}
