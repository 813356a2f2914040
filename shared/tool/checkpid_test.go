//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// The tests of the tool that the check_pid dialect stands in for, under the
// names that they have there.

func TestBashTool(t *testing.T) {
	t.Parallel()
	t.Run("returns tool definition with correct schema", func(t *testing.T) {
		definition := define(t, tool.CheckPID)["bash"]
		assert.NotEmpty(t, definition.Description)
		assert.Contains(t, definition.Description, "truncat")

		var schema map[string]any
		require.NoError(t, json.Unmarshal(definition.InputSchema, &schema))
		props, ok := schema["properties"].(map[string]any)
		require.True(t, ok)
		assert.Contains(t, props, "command")
		assert.Contains(t, props, "timeout")
		assert.Contains(t, props, "check_pid")
		assert.Contains(t, props, "kill_pid")
	})
}

func TestExecuteBash(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)

	t.Run("executes simple command", func(t *testing.T) {
		answer := a.runs("echo hello")
		assert.False(t, answer.IsError)
		assert.Equal(t, "stdout:\nhello\n\nexit code: 0", answer.Text)
	})
	t.Run("separates stdout and stderr", func(t *testing.T) {
		answer := a.runs("echo out && echo err >&2")
		assert.Contains(t, answer.Text, "stdout:\nout\n")
		assert.Contains(t, answer.Text, "stderr:\nerr\n")
	})
	t.Run("strips ANSI codes from output", func(t *testing.T) {
		answer := a.runs(`printf '\033[31mred\033[0m\n'`)
		assert.Contains(t, answer.Text, "red")
		assert.NotContains(t, answer.Text, "\x1b")
	})
	t.Run("reports non-zero exit code", func(t *testing.T) {
		answer := a.runs("echo fail && exit 42")
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.Text, "exit code: 42")
		assert.Contains(t, answer.Text, "fail")
	})
	t.Run("truncates large stdout and offloads to file", func(t *testing.T) {
		last := shared.DefaultMaxLines + 1000
		answer := a.runs(fmt.Sprintf("seq 1 %d", last))
		assert.False(t, answer.IsError)
		assert.Contains(t, answer.Text, fmt.Sprintf("\n%d\n", last))
		assert.NotContains(t, answer.Text, "\n1\n")

		notice := regexp.MustCompile(`^\[Command ended with exit code 0\]\n\[stdout: Showing last 2000 of 3000 lines\. Full output: (.+)\]\n`).FindStringSubmatch(answer.Text)
		require.NotNil(t, notice, "%s", answer.Text)
		full, err := os.ReadFile(notice[1])
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(full), "1\n2\n"))
		assert.Equal(t, last, strings.Count(string(full), "\n"))
	})
	t.Run("respects context cancellation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		answer := a.Call(ctx, tool.Call{Name: "bash", Arguments: []byte(`{"command":"sleep 10"}`)})
		assert.True(t, answer.IsError)
		assert.Equal(t, "[Command cancelled before it was started: nothing was run.]\n[context canceled]", answer.Text)
	})
	t.Run("respects timeout argument", func(t *testing.T) {
		start := time.Now()
		answer := a.run(args{"command": "sleep 10", "timeout": 200})
		assert.Less(t, time.Since(start), 5*time.Second)
		assert.Contains(t, answer.Text, "backgrounded")
	})
	t.Run("returns error for missing command", func(t *testing.T) {
		answer := a.run(args{})
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.Text, "one of command, check_pid, or kill_pid is required")
	})
	t.Run("returns error for invalid JSON args", func(t *testing.T) {
		answer := a.Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{invalid`)})
		assert.True(t, answer.IsError)
	})
	t.Run("omits empty stderr section", func(t *testing.T) {
		assert.NotContains(t, a.runs("echo hello").Text, "stderr:")
	})
	t.Run("omits empty stdout section", func(t *testing.T) {
		answer := a.runs("echo err >&2")
		assert.NotContains(t, answer.Text, "stdout:")
		assert.Contains(t, answer.Text, "stderr:\nerr\n")
	})
}

func TestBackgroundExecution(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)

	t.Run("auto-backgrounds command on timeout", func(t *testing.T) {
		start := time.Now()
		answer := a.run(args{"command": "sleep 30", "timeout": 200})
		assert.Less(t, time.Since(start), 8*time.Second)
		assert.False(t, answer.IsError)
		assert.Regexp(t, `^\[Command backgrounded after 0\.2s \(pid \d+\)\.\n\nFull output: \S+\.stdout\.log\nFull output: \S+\.stderr\.log\nUse check_pid or kill_pid to manage\.\]$`, answer.Text)
	})
	t.Run("check_pid returns status of running process", func(t *testing.T) {
		pid := pidOf(t, a.run(args{"command": "echo started && " + plugintest.Forever, "timeout": 1000}))
		answer := a.run(args{"check_pid": pid})
		assert.False(t, answer.IsError)
		assert.Contains(t, answer.Text, "still running")
	})
	t.Run("kill_pid terminates process and returns output", func(t *testing.T) {
		first := a.run(args{"command": "echo started && " + plugintest.Forever, "timeout": 1000})
		pid := pidOf(t, first)
		a.collect("bash", args{"check_pid": pid}, first.Text, "started")
		answer := a.run(args{"kill_pid": pid})
		assert.False(t, answer.IsError)
		assert.Contains(t, answer.Text, "killed")
		assert.Contains(t, answer.Text, "stdout:\nstarted\n")
		assert.False(t, plugintest.Alive(pid))

		answer = a.run(args{"check_pid": pid})
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.Text, "no background process")
	})
	t.Run("check_pid on completed process returns final output", func(t *testing.T) {
		open := a.door("done")
		pid := pidOf(t, a.run(args{"command": "echo begun; read < done; echo done", "timeout": 1}))
		open()
		a.awaitEnd(pid)
		for range 2 { // the final output can be read again
			answer := a.run(args{"check_pid": pid})
			assert.False(t, answer.IsError)
			assert.Regexp(t, `^\[Process \d+ exited with code 0\.\n\nstdout:\nbegun\ndone\n\nFull output: .+\nFull output: .+\]$`, answer.Text)
		}
	})
	t.Run("check_pid on unknown pid returns error", func(t *testing.T) {
		answer := a.run(args{"check_pid": 99999})
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.Text, "no background process")
	})
}

// What the dialect promises besides.

func TestCheckPIDShowsOutputOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)
	open := a.door("more")
	answer := a.run(args{"command": "echo first; read < more; echo second; echo oops >&2; " + plugintest.Forever, "timeout": 1000})
	pid := pidOf(t, answer)
	text := a.collect("bash", args{"check_pid": pid}, answer.Text, "first")
	assert.Contains(t, a.run(args{"check_pid": pid}).Text, "still running. No new output since last check.\n\nFull output: ")
	open()
	text += a.collect("bash", args{"check_pid": pid}, "", "second", "oops")
	assert.Equal(t, 1, strings.Count(text, "first\n"))
	assert.Equal(t, 1, strings.Count(text, "New output since last check (1 line):\nsecond\n"))
	assert.Equal(t, 1, strings.Count(text, "New stderr since last check (1 line):\noops\n"))
}

func TestCheckPIDReachesWhatACommandLeftRunning(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)
	answer := a.runs(leaves)
	child, pid := answer.Result.Leftover[0], answer.Result.PID
	assert.False(t, answer.IsError)
	assert.Equal(t, fmt.Sprintf("stdout:\nstarted\n\nexit code: 0\n[Still running in the background: %d (%s). Use check_pid or kill_pid with %d to manage.]",
		child.PID, child.Command, pid), answer.Text)
	checked := a.run(args{"check_pid": pid}).Text
	assert.Contains(t, checked, fmt.Sprintf("[Process %d exited with code 0. Still running: %d (", pid, child.PID))
	assert.NotContains(t, checked, "started", "it was shown")
	assert.Contains(t, a.run(args{"kill_pid": pid}).Text, fmt.Sprintf("[Process %d had exited with code 0; nothing that it started is running any more.", pid))
	plugintest.AwaitDeath(t, child.PID)
}

func TestCheckPIDCancelKillsTheCommand(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)
	ctx, cancel := context.WithCancel(t.Context())
	live := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	answer := a.Call(ctx, tool.Call{Name: "bash", Arguments: []byte(`{"command":"echo begun; ` + plugintest.Forever + `"}`), Live: live})
	assert.True(t, answer.IsError)
	assert.Equal(t, "[Command cancelled and killed.]\n\nstdout:\nbegun\n\nexit code: 143 (SIGTERM)\n[context canceled]", answer.Text)
	assert.False(t, plugintest.Alive(answer.Result.PID))
}

// pidOf finds the pid in the text, like a model.
func pidOf(t *testing.T, answer tool.Answer) int {
	t.Helper()
	match := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(answer.Text)
	require.NotNil(t, match, "no pid in %q", answer.Text)
	pid, err := strconv.Atoi(match[1])
	require.NoError(t, err)
	return pid
}

// define returns the definitions of a dialect by name.
func define(t *testing.T, dialect tool.Dialect) map[string]tool.Definition {
	t.Helper()
	tools, err := tool.New(dialect, nil, tool.Options{})
	require.NoError(t, err)
	definitions := make(map[string]tool.Definition)
	for _, d := range tools.Definitions() {
		definitions[d.Name] = d
	}
	return definitions
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
