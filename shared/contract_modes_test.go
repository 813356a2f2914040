//go:build unix

package shared_test

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

// soon is a timeout that a command is meant to reach, with its first output
// before it.
const soon = time.Second

func TestModeDetachAtTheTimeout(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	for _, mode := range []shared.Mode{"", shared.ModeDetach} {
		g := newGate(t)
		r := execute(t, bash, shared.ExecuteRequest{Command: "echo one; " + g.wait() + "; echo two; exit 5", Mode: mode, Timeout: soon})
		require.Equal(t, shared.StatusRunning, r.Status)
		assert.Equal(t, -1, r.ExitCode)
		assert.Empty(t, r.Cause)
		assert.Equal(t, "one\n", r.Stdout.Content)
		assert.GreaterOrEqual(t, r.Duration, soon)
		assert.FileExists(t, r.Stdout.Path)
		assert.FileExists(t, r.Stderr.Path)
		g.open(t)
		r = check(t, bash, shared.CheckRequest{PID: r.PID, Wait: hang})
		assert.Equal(t, shared.StatusFailed, r.Status)
		assert.Equal(t, 5, r.ExitCode)
		assert.Equal(t, "two\n", r.Stdout.Content)
	}
}

func TestModeDetachBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	r := execute(t, bash, shared.ExecuteRequest{Command: "echo done", Mode: shared.ModeDetach, Timeout: time.Hour})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
	requireCode(t, err, shared.ErrNotFound)
}

func TestModeTerminateAtTheTimeout(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	r := execute(t, bash, shared.ExecuteRequest{Command: "echo so far; echo $$ >&2; " + forever, Mode: shared.ModeTerminate, Timeout: soon})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, 143, r.ExitCode)
	assert.Equal(t, "SIGTERM", r.Signal)
	assert.Equal(t, "so far\n", r.Stdout.Content)
	assert.Equal(t, r.PID, number(t, r.Stderr.Content))
	assert.False(t, plugintest.Alive(r.PID))
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
	requireCode(t, err, shared.ErrNotFound)
}

func TestModeTerminateLetsACommandCleanUp(t *testing.T) {
	t.Parallel()
	r := execute(t, launch(t), shared.ExecuteRequest{
		Command: "trap 'echo cleaned; exit 9' TERM; " + forever + " & wait",
		Mode:    shared.ModeTerminate, Timeout: soon,
	})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, 9, r.ExitCode)
	assert.Empty(t, r.Signal)
	assert.Equal(t, "cleaned\n", r.Stdout.Content)
}

func TestModeTerminateEndsWhatIgnoresTheSignal(t *testing.T) {
	t.Parallel()
	r := execute(t, launch(t), shared.ExecuteRequest{
		Command: "trap '' TERM; echo deaf; while :; do sleep 1000; done",
		Mode:    shared.ModeTerminate, Timeout: soon,
	})
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, "SIGKILL", r.Signal)
	assert.Equal(t, 137, r.ExitCode)
	assert.Equal(t, "deaf\n", r.Stdout.Content)
}

func TestModeTerminateBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	r := execute(t, launch(t), shared.ExecuteRequest{Command: "echo done", Mode: shared.ModeTerminate})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "done\n", r.Stdout.Content)
}

func TestModeBackgroundDoesNotWait(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	r := execute(t, bash, shared.ExecuteRequest{Command: g.wait() + "; echo done", Mode: shared.ModeBackground})
	assert.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, -1, r.ExitCode)
	assert.Positive(t, r.PID)
	assert.FileExists(t, r.Stdout.Path)
	g.open(t)
	r = awaitEnd(t, bash, r.PID)
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "done\n", r.Stdout.Content)
}

// What is written before Execute returns is there for the next call to wait for.
func TestModeBackgroundLeavesOutputToCheck(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	for range 100 {
		server := execute(t, bash, shared.ExecuteRequest{Command: "echo listening on :8080; exec " + forever, Mode: shared.ModeBackground})
		assert.Empty(t, server.Stdout.Content)
		r := check(t, bash, shared.CheckRequest{PID: server.PID, Wait: hang, WaitFor: "listening on"})
		require.Equal(t, "listening on :8080\n", r.Stdout.Content)
		kill(t, bash, server.PID)
	}
}

func TestModeBackgroundAtItsTimeout(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	r := execute(t, bash, shared.ExecuteRequest{Command: forever, Mode: shared.ModeBackground, Timeout: 100 * time.Millisecond})
	assert.Equal(t, shared.StatusRunning, r.Status)
	r = awaitEnd(t, bash, r.PID)
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
}

// Who waits for the end is not told of what is just being ended.
func TestModeBackgroundAtItsTimeoutHasNoLeftovers(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	r := execute(t, bash, shared.ExecuteRequest{
		Command: "(trap '' TERM; while :; do sleep 0.05; done) & wait", Mode: shared.ModeBackground, Timeout: soon,
	})
	r = check(t, bash, shared.CheckRequest{PID: r.PID, Wait: hang})
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Empty(t, r.Leftover)
}

func TestModeBackgroundOutlivesTheContextOfItsExecute(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	ctx, cancel := cancelable(t)
	r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: g.wait() + "; echo done", Mode: shared.ModeBackground})
	require.NoError(t, err)
	cancel()
	g.open(t)
	r = awaitEnd(t, bash, r.PID)
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
	bash := launch(t)
	g := newGate(t)
	r := execute(t, bash, shared.ExecuteRequest{
		Command: "npm run dev", Env: devCommands(t, "echo listening; "+g.wait()+"; echo stopped"),
		Mode: shared.ModeAuto, Timeout: hang,
	})
	require.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, "listening\n", r.Stdout.Content)
	assert.GreaterOrEqual(t, r.Duration, 2*time.Second)
	g.open(t)
	r = check(t, bash, shared.CheckRequest{PID: r.PID, Wait: hang})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "stopped\n", r.Stdout.Content)
}

func TestModeAutoWaitsForTheFirstOutput(t *testing.T) {
	t.Parallel()
	r := execute(t, launch(t), shared.ExecuteRequest{
		Command: "npm run dev", Env: devCommands(t, "sleep 3; echo listening >&2; "+forever),
		Mode: shared.ModeAuto, Timeout: hang,
	})
	require.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, "listening\n", r.Stderr.Content)
}

func TestModeAutoEndsASilentDevelopmentCommandAtTheTimeout(t *testing.T) {
	t.Parallel()
	r := execute(t, launch(t), shared.ExecuteRequest{
		Command: "npm run dev", Env: devCommands(t, forever),
		Mode: shared.ModeAuto, Timeout: 3 * time.Second,
	})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
}

func TestModeAutoOfAnOrdinaryCommand(t *testing.T) {
	t.Parallel()
	r := execute(t, launch(t), shared.ExecuteRequest{Command: "echo hello; " + forever, Mode: shared.ModeAuto, Timeout: 3 * time.Second})
	assert.Equal(t, shared.StatusKilled, r.Status)
	assert.Equal(t, shared.CauseTimeout, r.Cause)
	assert.Equal(t, "hello\n", r.Stdout.Content)
}

func TestModeAutoOfADevelopmentCommandThatEnds(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	r := execute(t, bash, shared.ExecuteRequest{Command: "npm test", Env: devCommands(t, "echo passed"), Mode: shared.ModeAuto})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
	requireCode(t, err, shared.ErrNotFound)
}

func TestTheLongestTimes(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	const longest = time.Duration(math.MaxInt64)
	for _, mode := range []shared.Mode{shared.ModeDetach, shared.ModeTerminate, shared.ModeAuto} {
		r := execute(t, bash, shared.ExecuteRequest{Command: "sleep 0.1; echo done", Mode: mode, Timeout: longest})
		assert.Equal(t, "done\n", r.Stdout.Content)
	}
	job := execute(t, bash, shared.ExecuteRequest{Command: "sleep 0.1; echo done", Mode: shared.ModeBackground, Timeout: longest})
	r := check(t, bash, shared.CheckRequest{PID: job.PID, Wait: longest})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	pid := background(t, bash, "trap 'sleep 0.1; exit 3' TERM; echo up; "+forever+" & wait").PID
	awaitText(t, bash, pid, "up")
	r, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid, Grace: longest})
	require.NoError(t, err)
	assert.Equal(t, 3, r.ExitCode)
}
