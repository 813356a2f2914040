//go:build unix

package contract

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// Meaning 2: the end of Execute's context kills the command's whole tree, and
// Execute tells what it came to.
func TestMeaning2Cancellation(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("kills the tree and keeps the output", func(t *testing.T) {
		ctx, cancel := plugintest.Cancelable(t)
		ready := filepath.Join(t.TempDir(), "ready")
		running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{
			Command: "echo so far; setsid bash -c 'trap \"\" TERM; sleep 1000 & echo $$ $! >" + ready + "; wait' & wait",
		})
		pids := plugintest.Numbers(t, plugintest.AwaitFile(t, ready))
		cancel()
		done := plugintest.Await(t, running)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.StatusKilled, done.Result.Status)
		assert.Equal(t, shared.CauseCancel, done.Result.Cause)
		assert.Equal(t, "so far\n", done.Result.Stdout.Content)
		assert.NotEqual(t, -1, done.Result.ExitCode)
		assert.Empty(t, done.Result.Leftover)
		for _, pid := range append(pids, done.Result.PID) {
			assert.False(t, plugintest.Alive(pid))
		}
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: done.Result.PID})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
	})
	t.Run("just after bash has ended", func(t *testing.T) { // while the plugin looks who is still at the output
		for begin, ended := time.Now(), false; !ended; {
			require.Less(t, time.Since(begin), plugintest.Hang)
			ready := filepath.Join(t.TempDir(), "ready")
			ctx, cancel := plugintest.Cancelable(t)
			running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{
				Command: "exec > >(exec 2>/dev/null; while :; do :; done); echo $! >" + ready,
			})
			pid := plugintest.Numbers(t, plugintest.AwaitFile(t, ready))[0]
			time.Sleep(10 * time.Millisecond) // bash ends
			cancel()
			done := plugintest.Await(t, running)
			require.NoError(t, done.Err)
			ended = len(done.Result.Leftover) == 0
			if !ended { // the cancel came too late
				plugintest.Kill(t, bash, done.Result.PID)
			}
			plugintest.AwaitDeath(t, pid)
		}
	})
	t.Run("by a deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), plugintest.Soon)
		defer cancel()
		r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "echo so far; exec " + plugintest.Forever})
		require.NoError(t, err)
		assert.Equal(t, shared.CauseCancel, r.Cause)
		assert.Equal(t, "so far\n", r.Stdout.Content)
		assert.Equal(t, 143, r.ExitCode)
	})
	t.Run("of what ignores SIGTERM", func(t *testing.T) {
		ctx, cancel := plugintest.Cancelable(t)
		ready := filepath.Join(t.TempDir(), "ready")
		running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "trap '' TERM; echo >" + ready + "; while :; do sleep 1000; done"})
		plugintest.AwaitFile(t, ready)
		cancel()
		done := plugintest.Await(t, running)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.CauseCancel, done.Result.Cause)
		assert.Equal(t, "SIGKILL", done.Result.Signal)
	})
	t.Run("before the start starts nothing", func(t *testing.T) {
		ctx, cancel := plugintest.Cancelable(t)
		cancel()
		trace := filepath.Join(t.TempDir(), "trace")
		for range 20 {
			r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "echo >" + trace})
			require.NoError(t, err)
			assert.Zero(t, r.PID)
			assert.Equal(t, shared.StatusKilled, r.Status)
			assert.Equal(t, shared.CauseCancel, r.Cause)
			assert.Equal(t, "echo >"+trace, r.Command)
			assert.Empty(t, r.Stdout)
		}
		assert.NoFileExists(t, trace)
	})
	t.Run("at any moment", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond/10)
				defer cancel()
				r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: plugintest.Forever})
				if assert.NoError(t, err) {
					assert.Equal(t, shared.StatusKilled, r.Status)
					assert.Equal(t, shared.CauseCancel, r.Cause)
					assert.False(t, r.PID != 0 && plugintest.Alive(r.PID))
				}
			})
		}
		wg.Wait()
	})
	t.Run("of one call leaves the others alone", func(t *testing.T) {
		ctx, cancel := plugintest.Cancelable(t)
		g := plugintest.NewGate(t)
		ready := filepath.Join(t.TempDir(), "ready")
		other := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: g.Wait() + "; echo whole"})
		mine := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "echo >" + ready + "; " + plugintest.Forever})
		plugintest.AwaitFile(t, ready)
		cancel()
		assert.Equal(t, shared.CauseCancel, plugintest.Await(t, mine).Result.Cause)
		g.Open(t)
		done := plugintest.Await(t, other)
		require.NoError(t, done.Err)
		assert.Equal(t, "whole\n", done.Result.Stdout.Content)
	})
	t.Run("after the end changes nothing", func(t *testing.T) {
		ctx, cancel := plugintest.Cancelable(t)
		g := plugintest.NewGate(t)
		r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "{ " + g.Wait() + "; echo lived; } & echo $!"})
		require.NoError(t, err)
		cancel()
		g.Open(t)
		assert.Equal(t, "lived\n", plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang}).Stdout.Content)
	})
	t.Run("of a Check stops the waiting only", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		pid := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
		plugintest.AwaitText(t, bash, pid, "up")
		r, err := bash.Check(ctx, shared.CheckRequest{PID: pid, Wait: 1000 * plugintest.Hang, All: true})
		require.NoError(t, err)
		assert.Equal(t, shared.StatusRunning, r.Status)
		assert.Equal(t, "up\n", r.Stdout.Content)
		assert.True(t, plugintest.Alive(pid))
	})
}

func TestCancellationOfAPluginThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	ctx, cancel := plugintest.Cancelable(t)
	ready := filepath.Join(t.TempDir(), "ready")
	running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "echo $$ >" + ready + "; " + plugintest.Forever})
	pid := plugintest.Number(t, plugintest.AwaitFile(t, ready))
	plugin := bash.PluginPID()
	plugintest.Stop(t, plugin)
	cancel()
	done := plugintest.Await(t, running)
	require.ErrorIs(t, done.Err, context.Canceled)
	assert.Nil(t, done.Result)
	require.NoError(t, syscall.Kill(plugin, syscall.SIGCONT))
	plugintest.AwaitDeath(t, pid) // the cancel was not lost
	assert.Equal(t, "alive\n", plugintest.Run(t, bash, "echo alive").Stdout.Content)
	assert.Equal(t, plugin, bash.PluginPID())
}

// A caller that waits no longer leaves the command running, as a job that keeps the
// timeout of a mode that kills.
func TestErrLetRunLeavesTheCommandRunning(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, mode := range shared.Modes() {
		if !mode.Waits() {
			continue
		}
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ready := filepath.Join(t.TempDir(), "ready")
			running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "echo so far; echo >" + ready + "; exec " + plugintest.Forever, Mode: mode, Timeout: 3 * time.Second})
			plugintest.AwaitFile(t, ready)
			cancel(shared.ErrLetRun)
			done := plugintest.Await(t, running)
			require.NoError(t, done.Err)
			assert.Equal(t, shared.StatusRunning, done.Result.Status)
			r, err := bash.Check(t.Context(), shared.CheckRequest{PID: done.Result.PID, All: true, Wait: plugintest.Hang, WaitFor: "so far"})
			require.NoError(t, err)
			assert.Equal(t, "so far\n", r.Stdout.Content)
			if mode != shared.ModeDetach {
				r, err = bash.Check(t.Context(), shared.CheckRequest{PID: done.Result.PID, Wait: plugintest.Hang})
				require.NoError(t, err)
				assert.Equal(t, shared.CauseTimeout, r.Cause)
			}
			plugintest.Kill(t, bash, done.Result.PID)
		})
	}
}

// The output in the Result counts as shown if the caller delivers it, and only then.
func TestErrDetachCountsAsShown(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, cause := range []error{shared.ErrDetach, shared.ErrLetRun, fmt.Errorf("the answer is late: %w", shared.ErrDetach)} {
		for _, mode := range []shared.Mode{shared.ModeDetach, shared.ModeTerminate, shared.ModeAuto} {
			ctx, cancel := context.WithCancelCause(t.Context())
			ready := filepath.Join(t.TempDir(), "ready")
			running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "echo so far; echo >" + ready + "; exec " + plugintest.Forever, Mode: mode})
			plugintest.AwaitFile(t, ready)
			cancel(cause)
			done := plugintest.Await(t, running)
			require.NoError(t, done.Err)
			assert.Equal(t, shared.StatusRunning, done.Result.Status)
			pid, shown := done.Result.PID, ""
			if cause != shared.ErrLetRun { //nolint:errorlint // this very one
				shown = done.Result.Stdout.Content
			}
			plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Peek: true, All: true, Wait: plugintest.Hang, WaitFor: "so far\n"})
			assert.Equal(t, "so far\n", shown+plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content, "%v in mode %s", cause, mode)
			plugintest.Kill(t, bash, pid)
		}
	}
	assert.ErrorIs(t, shared.ErrDetach, shared.ErrLetRun, "for a Bash that knows only that")
}
