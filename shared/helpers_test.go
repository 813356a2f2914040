//go:build unix

package shared_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

const (
	// hang bounds every wait in these tests: only a broken plugin reaches it.
	hang = time.Minute
	// forever is the sleep of commands that must be ended by somebody.
	forever = "sleep 1000"
)

// launch starts a plugin for one test and closes it with the test.
func launch(t *testing.T) *host.Client {
	t.Helper()
	return launchWith(t, host.LaunchConfig{})
}

// launchWith fills in the path, unless there is one, and a log folder of the
// test's own.
func launchWith(t *testing.T, cfg host.LaunchConfig) *host.Client {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = pluginPath
	}
	if cfg.LogDir == "" {
		cfg.LogDir = t.TempDir()
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = hang
	}
	bash, err := host.Launch(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bash.Close()) })
	return bash
}

// execute runs a request that must have an outcome.
func execute(t *testing.T, bash shared.Bash, req shared.ExecuteRequest) *shared.Result {
	t.Helper()
	r, err := bash.Execute(t.Context(), req)
	require.NoError(t, err)
	return r
}

// run is execute for a command with nothing to say about how.
func run(t *testing.T, bash shared.Bash, command string) *shared.Result {
	t.Helper()
	return execute(t, bash, shared.ExecuteRequest{Command: command})
}

// background makes command a job, of whose output no Result has shown anything
// yet.
func background(t *testing.T, bash shared.Bash, command string) *shared.Result {
	t.Helper()
	g := newGate(t)
	r := execute(t, bash, shared.ExecuteRequest{Command: g.wait() + "; " + command, Mode: shared.ModeBackground})
	require.Equal(t, shared.StatusRunning, r.Status)
	g.open(t)
	return r
}

func check(t *testing.T, bash shared.Bash, req shared.CheckRequest) *shared.Result {
	t.Helper()
	r, err := bash.Check(t.Context(), req)
	require.NoError(t, err)
	if req.Wait == hang && req.WaitFor != "" { // otherwise a test might pass by waiting in vain
		assert.True(t, r.Matched || r.Status != shared.StatusRunning, "no match for %q: %v", req.WaitFor, r)
	}
	return r
}

func kill(t *testing.T, bash shared.Bash, pid int) *shared.Result {
	t.Helper()
	r, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid})
	require.NoError(t, err)
	return r
}

// awaitText returns the Result that shows a match of pattern.
func awaitText(t *testing.T, bash shared.Bash, pid int, pattern string) *shared.Result {
	t.Helper()
	r := check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, WaitFor: pattern})
	require.Regexp(t, pattern, r.Stdout.Content+r.Stderr.Content)
	return r
}

// awaitEnd returns the Result of a job that has ended, all its output in it.
func awaitEnd(t *testing.T, bash shared.Bash, pid int) *shared.Result {
	t.Helper()
	r := check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, All: true})
	require.NotEqual(t, shared.StatusRunning, r.Status)
	return r
}

// eventually polls for what no call can wait for.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	require.Eventually(t, happened, hang, 2*time.Millisecond, what)
}

func awaitDeath(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.Positive(t, pid)
		eventually(t, "the end of process "+strconv.Itoa(pid), func() bool { return !plugintest.Alive(pid) })
	}
}

// number parses what a command has printed.
func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	return n
}

// numbers parses a list of pids.
func numbers(t *testing.T, text string) []int {
	t.Helper()
	var all []int
	for field := range strings.FieldsSeq(text) {
		all = append(all, number(t, field))
	}
	return all
}

// awaitFile returns the content of a file once it ends in a newline.
func awaitFile(t *testing.T, path string) string {
	t.Helper()
	var text string
	eventually(t, "a line in "+path, func() bool {
		content, _ := os.ReadFile(path)
		text = string(content)
		return strings.HasSuffix(text, "\n")
	})
	return text
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// gate holds a command up until the test lets it go on.
type gate struct {
	path string
	fifo *os.File
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{path: filepath.Join(t.TempDir(), "gate")}
	require.NoError(t, syscall.Mkfifo(g.path, 0o600))
	var err error
	g.fifo, err = os.OpenFile(g.path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { g.fifo.Close() })
	return g
}

// wait is the bash text that waits for the next open.
func (g *gate) wait() string { return "read -r -n 1 <'" + g.path + "'" }

// open lets the command pass one wait.
func (g *gate) open(t *testing.T) {
	t.Helper()
	_, err := g.fifo.WriteString("\n")
	require.NoError(t, err)
}

// cancelable returns a context of the test that the test may end.
func cancelable(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// outcome is what a call in another goroutine came to.
type outcome struct {
	result *shared.Result
	err    error
}

// start makes a call in another goroutine.
func start(call func() (*shared.Result, error)) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := call()
		done <- outcome{r, err}
	}()
	return done
}

// startExecute runs a request in another goroutine.
func startExecute(ctx context.Context, bash shared.Bash, req shared.ExecuteRequest) <-chan outcome {
	return start(func() (*shared.Result, error) { return bash.Execute(ctx, req) })
}

// await receives, or fails the test where the other side hangs.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(hang):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// requireCode checks that an error is typed on this side of the boundary.
func requireCode(t *testing.T, err error, want error) *shared.Error {
	t.Helper()
	require.ErrorIs(t, err, want)
	var e *shared.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Message)
	return e
}

// shortDir is a folder with a path short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func requireErrorIsOneOf(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			return
		}
	}
	require.Fail(t, "another error", "%v", err)
}
