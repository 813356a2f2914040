//go:build unix

package shared_test

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
	bash := launch(t)
	t.Run("kills the tree and keeps the output", func(t *testing.T) {
		ctx, cancel := cancelable(t)
		ready := filepath.Join(t.TempDir(), "ready")
		running := startExecute(ctx, bash, shared.ExecuteRequest{
			Command: "echo so far; setsid bash -c 'trap \"\" TERM; sleep 1000 & echo $$ $! >" + ready + "; wait' & wait",
		})
		pids := numbers(t, awaitFile(t, ready))
		cancel()
		done := await(t, running)
		require.NoError(t, done.err)
		assert.Equal(t, shared.StatusKilled, done.result.Status)
		assert.Equal(t, shared.CauseCancel, done.result.Cause)
		assert.Equal(t, "so far\n", done.result.Stdout.Content)
		assert.NotEqual(t, -1, done.result.ExitCode)
		assert.Empty(t, done.result.Leftover)
		for _, pid := range append(pids, done.result.PID) {
			assert.False(t, plugintest.Alive(pid))
		}
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: done.result.PID})
		requireCode(t, err, shared.ErrNotFound)
	})
	t.Run("just after bash has ended", func(t *testing.T) { // while the plugin looks who is still at the output
		for begin, ended := time.Now(), false; !ended; {
			require.Less(t, time.Since(begin), hang)
			ready := filepath.Join(t.TempDir(), "ready")
			ctx, cancel := cancelable(t)
			running := startExecute(ctx, bash, shared.ExecuteRequest{
				Command: "exec > >(exec 2>/dev/null; while :; do :; done); echo $! >" + ready,
			})
			pid := numbers(t, awaitFile(t, ready))[0]
			time.Sleep(10 * time.Millisecond) // bash ends
			cancel()
			done := await(t, running)
			require.NoError(t, done.err)
			ended = len(done.result.Leftover) == 0
			if !ended { // the cancel came too late
				kill(t, bash, done.result.PID)
			}
			awaitDeath(t, pid)
		}
	})
	t.Run("by a deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "echo so far; exec " + forever})
		require.NoError(t, err)
		assert.Equal(t, shared.CauseCancel, r.Cause)
		assert.Equal(t, "so far\n", r.Stdout.Content)
		assert.Equal(t, 143, r.ExitCode)
	})
	t.Run("of what ignores SIGTERM", func(t *testing.T) {
		ctx, cancel := cancelable(t)
		ready := filepath.Join(t.TempDir(), "ready")
		running := startExecute(ctx, bash, shared.ExecuteRequest{Command: "trap '' TERM; echo >" + ready + "; while :; do sleep 1000; done"})
		awaitFile(t, ready)
		cancel()
		done := await(t, running)
		require.NoError(t, done.err)
		assert.Equal(t, shared.CauseCancel, done.result.Cause)
		assert.Equal(t, "SIGKILL", done.result.Signal)
	})
	t.Run("before the start starts nothing", func(t *testing.T) {
		ctx, cancel := cancelable(t)
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
				r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: forever})
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
		ctx, cancel := cancelable(t)
		g := newGate(t)
		ready := filepath.Join(t.TempDir(), "ready")
		other := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: g.wait() + "; echo whole"})
		mine := startExecute(ctx, bash, shared.ExecuteRequest{Command: "echo >" + ready + "; " + forever})
		awaitFile(t, ready)
		cancel()
		assert.Equal(t, shared.CauseCancel, await(t, mine).result.Cause)
		g.open(t)
		done := await(t, other)
		require.NoError(t, done.err)
		assert.Equal(t, "whole\n", done.result.Stdout.Content)
	})
	t.Run("after the end changes nothing", func(t *testing.T) {
		ctx, cancel := cancelable(t)
		g := newGate(t)
		r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "{ " + g.wait() + "; echo lived; } & echo $!"})
		require.NoError(t, err)
		cancel()
		g.open(t)
		assert.Equal(t, "lived\n", check(t, bash, shared.CheckRequest{PID: r.PID, Wait: hang}).Stdout.Content)
	})
	t.Run("of a Check stops the waiting only", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		pid := background(t, bash, "echo up; "+forever).PID
		awaitText(t, bash, pid, "up")
		r, err := bash.Check(ctx, shared.CheckRequest{PID: pid, Wait: 1000 * hang, All: true})
		require.NoError(t, err)
		assert.Equal(t, shared.StatusRunning, r.Status)
		assert.Equal(t, "up\n", r.Stdout.Content)
		assert.True(t, plugintest.Alive(pid))
	})
}

func TestCancellationOfAPluginThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	ctx, cancel := cancelable(t)
	ready := filepath.Join(t.TempDir(), "ready")
	running := startExecute(ctx, bash, shared.ExecuteRequest{Command: "echo $$ >" + ready + "; " + forever})
	pid := number(t, awaitFile(t, ready))
	plugin := bash.PluginPID()
	faultStop(t, plugin)
	cancel()
	done := await(t, running)
	require.ErrorIs(t, done.err, context.Canceled)
	assert.Nil(t, done.result)
	require.NoError(t, syscall.Kill(plugin, syscall.SIGCONT))
	awaitDeath(t, pid) // the cancel was not lost
	assert.Equal(t, "alive\n", run(t, bash, "echo alive").Stdout.Content)
	assert.Equal(t, plugin, bash.PluginPID())
}

// A caller that waits no longer leaves the command running, as a job that keeps the
// timeout of a mode that kills.
func TestErrLetRunLeavesTheCommandRunning(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	for _, mode := range shared.Modes() {
		if !mode.Waits() {
			continue
		}
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ready := filepath.Join(t.TempDir(), "ready")
			running := startExecute(ctx, bash, shared.ExecuteRequest{Command: "echo so far; echo >" + ready + "; exec " + forever, Mode: mode, Timeout: 3 * time.Second})
			awaitFile(t, ready)
			cancel(shared.ErrLetRun)
			done := await(t, running)
			require.NoError(t, done.err)
			assert.Equal(t, shared.StatusRunning, done.result.Status)
			r, err := bash.Check(t.Context(), shared.CheckRequest{PID: done.result.PID, All: true, Wait: hang, WaitFor: "so far"})
			require.NoError(t, err)
			assert.Equal(t, "so far\n", r.Stdout.Content)
			if mode != shared.ModeDetach {
				r, err = bash.Check(t.Context(), shared.CheckRequest{PID: done.result.PID, Wait: hang})
				require.NoError(t, err)
				assert.Equal(t, shared.CauseTimeout, r.Cause)
			}
			kill(t, bash, done.result.PID)
		})
	}
}

// The output in the Result counts as shown if the caller delivers it, and only then.
func TestErrDetachCountsAsShown(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	for _, cause := range []error{shared.ErrDetach, shared.ErrLetRun, fmt.Errorf("the answer is late: %w", shared.ErrDetach)} {
		for _, mode := range []shared.Mode{shared.ModeDetach, shared.ModeTerminate, shared.ModeAuto} {
			ctx, cancel := context.WithCancelCause(t.Context())
			ready := filepath.Join(t.TempDir(), "ready")
			running := startExecute(ctx, bash, shared.ExecuteRequest{Command: "echo so far; echo >" + ready + "; exec " + forever, Mode: mode})
			awaitFile(t, ready)
			cancel(cause)
			done := await(t, running)
			require.NoError(t, done.err)
			assert.Equal(t, shared.StatusRunning, done.result.Status)
			pid, shown := done.result.PID, ""
			if cause != shared.ErrLetRun { //nolint:errorlint // this very one
				shown = done.result.Stdout.Content
			}
			check(t, bash, shared.CheckRequest{PID: pid, Peek: true, All: true, Wait: hang, WaitFor: "so far\n"})
			assert.Equal(t, "so far\n", shown+check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content, "%v in mode %s", cause, mode)
			kill(t, bash, pid)
		}
	}
	assert.ErrorIs(t, shared.ErrDetach, shared.ErrLetRun, "for a Bash that knows only that")
}
