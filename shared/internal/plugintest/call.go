//go:build unix

package plugintest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

const (
	// Hang bounds every wait in tests: only a broken plugin reaches it.
	Hang = time.Minute
	// Soon is a timeout that a command is meant to reach, with its first output before it.
	Soon = time.Second
	// Forever is the sleep of commands that must be ended by somebody.
	Forever = "sleep 1000"
)

// Launch starts a plugin for one test and closes it with the test.
func Launch(t testing.TB) *host.Client {
	t.Helper()
	return LaunchWith(t, host.LaunchConfig{})
}

// LaunchWith fills in the path, unless there is one, and a log folder of the
// test's own.
func LaunchWith(t testing.TB, cfg host.LaunchConfig) *host.Client {
	t.Helper()
	NoteSources(t)
	if cfg.Path == "" {
		cfg.Path = Path
	}
	if cfg.LogDir == "" {
		cfg.LogDir = t.TempDir()
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = Hang
	}
	bash, err := host.Launch(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bash.Close()) })
	return bash
}

// Execute runs a request that must have an outcome.
func Execute(t testing.TB, bash shared.Bash, req shared.ExecuteRequest) *shared.Result {
	t.Helper()
	r, err := bash.Execute(t.Context(), req)
	require.NoError(t, err)
	return r
}

// Run is Execute for a command with nothing to say about how.
func Run(t testing.TB, bash shared.Bash, command string) *shared.Result {
	t.Helper()
	return Execute(t, bash, shared.ExecuteRequest{Command: command})
}

// Background makes command a job, of whose output no Result has shown anything
// yet.
func Background(t testing.TB, bash shared.Bash, command string) *shared.Result {
	t.Helper()
	g := NewGate(t)
	r := Execute(t, bash, shared.ExecuteRequest{Command: g.Wait() + "; " + command, Mode: shared.ModeBackground})
	require.Equal(t, shared.StatusRunning, r.Status)
	g.Open(t)
	return r
}

// Check checks a job that there must be.
func Check(t testing.TB, bash shared.Bash, req shared.CheckRequest) *shared.Result {
	t.Helper()
	r, err := bash.Check(t.Context(), req)
	require.NoError(t, err)
	if req.Wait == Hang && req.WaitFor != "" { // otherwise a test might pass by waiting in vain
		assert.True(t, r.Matched || r.Status != shared.StatusRunning, "no match for %q: %v", req.WaitFor, r)
	}
	return r
}

// Kill ends a job that there must be.
func Kill(t testing.TB, bash shared.Bash, pid int) *shared.Result {
	t.Helper()
	r, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid})
	require.NoError(t, err)
	return r
}

// AwaitText returns the Result that shows a match of pattern.
func AwaitText(t testing.TB, bash shared.Bash, pid int, pattern string) *shared.Result {
	t.Helper()
	r := Check(t, bash, shared.CheckRequest{PID: pid, Wait: Hang, WaitFor: pattern})
	require.Regexp(t, pattern, r.Stdout.Content+r.Stderr.Content)
	return r
}

// AwaitEnd returns the Result of a job that has ended, all its output in it.
func AwaitEnd(t testing.TB, bash shared.Bash, pid int) *shared.Result {
	t.Helper()
	r := Check(t, bash, shared.CheckRequest{PID: pid, Wait: Hang, All: true})
	require.NotEqual(t, shared.StatusRunning, r.Status)
	return r
}

// AwaitOver waits for a job's end without showing anything of it.
func AwaitOver(t testing.TB, bash shared.Bash, pid int) {
	t.Helper()
	Eventually(t, "the end of the job", func() bool {
		for _, job := range Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs {
			if job.PID == pid {
				return job.Status != shared.StatusRunning && len(job.Leftover) == 0
			}
		}
		return false
	})
}

// Says asserts that a command prints a text on either stream.
func Says(t testing.TB, r *shared.Result, text string) {
	t.Helper()
	assert.Contains(t, r.Stdout.Content+r.Stderr.Content, text, r.Command)
}

// Environment returns the variables that a command sees.
func Environment(t testing.TB, bash shared.Bash, env ...string) map[string]string {
	t.Helper()
	r := Execute(t, bash, shared.ExecuteRequest{Command: "env -0 | tr '\\n\\0' ' \\n'", Env: env})
	vars := make(map[string]string)
	for line := range strings.Lines(r.Stdout.Content) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		vars[name] = value
	}
	return vars
}
