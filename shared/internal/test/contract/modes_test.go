//go:build unix

package contract

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

func TestModeDetachAtTheTimeout(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, mode := range []shared.Mode{"", shared.ModeDetach} {
		g := plugintest.NewGate(t)
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo one; " + g.Wait() + "; echo two; exit 5", Mode: mode, Timeout: plugintest.Soon})
		require.Equal(t, shared.StatusRunning, r.Status)
		assert.Equal(t, -1, r.ExitCode)
		assert.Empty(t, r.Cause)
		assert.Equal(t, "one\n", r.Stdout.Content)
		assert.GreaterOrEqual(t, r.Duration, plugintest.Soon)
		assert.FileExists(t, r.Stdout.Path)
		assert.FileExists(t, r.Stderr.Path)
		g.Open(t)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
		assert.Equal(t, shared.StatusFailed, r.Status)
		assert.Equal(t, 5, r.ExitCode)
		assert.Equal(t, "two\n", r.Stdout.Content)
	}
}

func TestModeDetachBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo done", Mode: shared.ModeDetach, Timeout: time.Hour})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
	plugintest.RequireCode(t, err, shared.ErrNotFound)
}

func TestModeTerminateAtTheTimeout(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo so far; echo $$ >&2; " + plugintest.Forever, Mode: shared.ModeTerminate, Timeout: plugintest.Soon})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, 143, r.ExitCode)
	assert.Equal(t, "SIGTERM", r.Signal)
	assert.Equal(t, "so far\n", r.Stdout.Content)
	assert.Equal(t, r.PID, plugintest.Number(t, r.Stderr.Content))
	assert.False(t, plugintest.Alive(r.PID))
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
	plugintest.RequireCode(t, err, shared.ErrNotFound)
}

func TestModeTerminateLetsACommandCleanUp(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{
		Command: "trap 'echo cleaned; exit 9' TERM; " + plugintest.Forever + " & wait",
		Mode:    shared.ModeTerminate, Timeout: plugintest.Soon,
	})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, 9, r.ExitCode)
	assert.Empty(t, r.Signal)
	assert.Equal(t, "cleaned\n", r.Stdout.Content)
}

func TestModeTerminateEndsWhatIgnoresTheSignal(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{
		Command: "trap '' TERM; echo deaf; while :; do sleep 1000; done",
		Mode:    shared.ModeTerminate, Timeout: plugintest.Soon,
	})
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, "SIGKILL", r.Signal)
	assert.Equal(t, 137, r.ExitCode)
	assert.Equal(t, "deaf\n", r.Stdout.Content)
}

func TestModeTerminateBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{Command: "echo done", Mode: shared.ModeTerminate})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "done\n", r.Stdout.Content)
}

func TestModeBackgroundDoesNotWait(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: g.Wait() + "; echo done", Mode: shared.ModeBackground})
	assert.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, -1, r.ExitCode)
	assert.Positive(t, r.PID)
	assert.FileExists(t, r.Stdout.Path)
	g.Open(t)
	r = plugintest.AwaitEnd(t, bash, r.PID)
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "done\n", r.Stdout.Content)
}

// What is written before Execute returns is there for the next call to wait for.
func TestModeBackgroundLeavesOutputToCheck(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for range 100 {
		server := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo listening on :8080; exec " + plugintest.Forever, Mode: shared.ModeBackground})
		assert.Empty(t, server.Stdout.Content)
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: server.PID, Wait: plugintest.Hang, WaitFor: "listening on"})
		require.Equal(t, "listening on :8080\n", r.Stdout.Content)
		plugintest.Kill(t, bash, server.PID)
	}
}

func TestModeBackgroundAtItsTimeout(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.Forever, Mode: shared.ModeBackground, Timeout: 100 * time.Millisecond})
	assert.Equal(t, shared.StatusRunning, r.Status)
	r = plugintest.AwaitEnd(t, bash, r.PID)
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
}

// Who waits for the end is not told of what is just being ended.
func TestModeBackgroundAtItsTimeoutHasNoLeftovers(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{
		Command: "(trap '' TERM; while :; do sleep 0.05; done) & wait", Mode: shared.ModeBackground, Timeout: plugintest.Soon,
	})
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Empty(t, r.Leftover)
}

func TestModeBackgroundOutlivesTheContextOfItsExecute(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	ctx, cancel := plugintest.Cancelable(t)
	r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: g.Wait() + "; echo done", Mode: shared.ModeBackground})
	require.NoError(t, err)
	cancel()
	g.Open(t)
	r = plugintest.AwaitEnd(t, bash, r.PID)
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "done\n", r.Stdout.Content)
}

// devCommands makes a folder with a program named npm, a development command,
// that does what script says.
func devCommands(t *testing.T, script string) (env []string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/bash\n"+script), 0o700))
	return []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
}

func TestModeAutoMovesADevelopmentCommandToTheBackground(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{
		Command: "npm run dev", Env: devCommands(t, "echo listening; "+g.Wait()+"; echo stopped"),
		Mode: shared.ModeAuto, Timeout: plugintest.Hang,
	})
	require.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, "listening\n", r.Stdout.Content)
	assert.GreaterOrEqual(t, r.Duration, 2*time.Second)
	g.Open(t)
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "stopped\n", r.Stdout.Content)
}

func TestModeAutoWaitsForTheFirstOutput(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{
		Command: "npm run dev", Env: devCommands(t, "sleep 3; echo listening >&2; "+plugintest.Forever),
		Mode: shared.ModeAuto, Timeout: plugintest.Hang,
	})
	require.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, "listening\n", r.Stderr.Content)
}

func TestModeAutoEndsASilentDevelopmentCommandAtTheTimeout(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{
		Command: "npm run dev", Env: devCommands(t, plugintest.Forever),
		Mode: shared.ModeAuto, Timeout: 3 * time.Second,
	})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
}

func TestModeAutoOfAnOrdinaryCommand(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{Command: "echo hello; " + plugintest.Forever, Mode: shared.ModeAuto, Timeout: 3 * time.Second})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, "hello\n", r.Stdout.Content)
}

func TestModeAutoOfADevelopmentCommandThatEnds(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "npm test", Env: devCommands(t, "echo passed"), Mode: shared.ModeAuto})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
	plugintest.RequireCode(t, err, shared.ErrNotFound)
}

func TestTheLongestTimes(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	const longest = time.Duration(math.MaxInt64)
	for _, mode := range []shared.Mode{shared.ModeDetach, shared.ModeTerminate, shared.ModeAuto} {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "sleep 0.1; echo done", Mode: mode, Timeout: longest})
		assert.Equal(t, "done\n", r.Stdout.Content)
	}
	job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "sleep 0.1; echo done", Mode: shared.ModeBackground, Timeout: longest})
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID, Wait: longest})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	pid := plugintest.Background(t, bash, "trap 'sleep 0.1; exit 3' TERM; echo up; "+plugintest.Forever+" & wait").PID
	plugintest.AwaitText(t, bash, pid, "up")
	r, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid, Grace: longest})
	require.NoError(t, err)
	assert.Equal(t, 3, r.ExitCode)
}
