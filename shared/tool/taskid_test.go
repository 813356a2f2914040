//go:build unix

package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// The tests of the tool that the task_id dialect stands in for, under the names
// that they have there, as a model sees them: its task manager is the toolset.
// Which commands are development commands is tested with ModeAuto itself.

func TestBackgroundTaskManager(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)

	t.Run("should create a task and return task id", func(t *testing.T) {
		id := a.task(plugintest.Forever)
		assert.Regexp(t, `^task_1[0-9a-z]{3}$`, id)
		assert.False(t, a.use("bash_output", args{"task_id": id}).IsError)
	})
	t.Run("should return null for non-existent task", func(t *testing.T) {
		answer := a.use("bash_output", args{"task_id": "non-existent"})
		assert.True(t, answer.IsError)
		assert.ErrorIs(t, answer.Err, shared.ErrNotFound)
		assert.Contains(t, answer.Text, "Task non-existent not found. ")
	})
	t.Run("should list all tasks", func(t *testing.T) {
		first, second := a.task(plugintest.Forever), a.task(plugintest.Forever)
		assert.NotEqual(t, first, second)
		text := a.use("bash_output", args{"task_id": "lost"}).Text // the answer lists the ids that exist
		assert.Contains(t, text, first)
		assert.Contains(t, text, second)
	})
	t.Run("should append output to task", func(t *testing.T) {
		open := a.door("append")
		id := a.task("echo line 1; read < append; echo line 2; " + plugintest.Forever)
		a.collect("bash_output", args{"task_id": id}, "", "Output:\nline 1\n")
		open()
		a.collect("bash_output", args{"task_id": id}, "", "Output:\nline 1\nline 2\n")
	})
	t.Run("should update task status", func(t *testing.T) {
		id := a.task("true")
		a.collect("bash_output", args{"task_id": id}, "", "\nStatus: completed\n", "\nExit Code: 0")
	})
	t.Run("should kill a running task", func(t *testing.T) {
		id := a.task("echo begun; sleep 100")
		a.collect("bash_output", args{"task_id": id}, "", "Output:\nbegun\n")
		answer := a.use("kill_bash", args{"task_id": id})
		assert.False(t, answer.IsError)
		assert.Equal(t, "Successfully terminated task "+id+" (echo begun; sleep 100)", answer.Text)
		assert.False(t, plugintest.Alive(answer.Result.PID))

		answer = a.use("bash_output", args{"task_id": id})
		assert.False(t, answer.IsError)
		assert.Contains(t, answer.Text, "\nStatus: killed\n")
		assert.Contains(t, answer.Text, "\n\nOutput:\nbegun\n\nExit Code: 143 (SIGTERM)")

		answer = a.use("kill_bash", args{"task_id": id})
		assert.True(t, answer.IsError)
		assert.Equal(t, "Task "+id+" is not running (status: killed). Cannot terminate.", answer.Text)
	})
	t.Run("should return false when killing non-existent task", func(t *testing.T) {
		answer := a.use("kill_bash", args{"task_id": "non-existent"})
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.Text, "Task non-existent not found. ")
	})
}

func TestShellExecuteWithOutputEvents(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	t.Run("should call onOutputEvent callback with data events", func(t *testing.T) {
		var live recorder
		answer := a.Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"echo \"hello world\""}`), Live: &live})
		assert.False(t, answer.IsError)
		assert.Contains(t, live.String(), "hello")
	})
}

// The development command of these tests is a script named npm.
func TestShouldRunInBackground(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	script := "#!/bin/bash\n[ $1 = dev ] && echo \"Server running\"\n[ $1 = fast ] || exec sleep ${2-1000}\n"
	require.NoError(t, os.WriteFile(filepath.Join(a.dir, "npm"), []byte(script), 0o700))

	t.Run("should return true when user explicitly requests background", func(t *testing.T) {
		t.Parallel()
		answer := a.run(args{"command": "echo any command; " + plugintest.Forever, "run_in_background": true})
		assert.Equal(t, shared.StatusRunning, answer.Result.Status)
		assert.Less(t, answer.Result.Duration, 8*time.Second)
		assert.NotEmpty(t, answer.ID)
	})
	t.Run("should return false for short running commands", func(t *testing.T) {
		t.Parallel()
		answer := a.runs("./npm fast")
		assert.Equal(t, shared.StatusCompleted, answer.Result.Status)
		assert.Empty(t, answer.ID)
	})
	t.Run("should return false without output", func(t *testing.T) {
		t.Parallel()
		answer := a.runs("./npm silent 2.3")
		assert.Equal(t, shared.StatusCompleted, answer.Result.Status)
		assert.Empty(t, answer.ID)
	})
	t.Run("should return false for non-dev commands", func(t *testing.T) {
		t.Parallel()
		answer := a.runs("echo hello; sleep 2.3")
		assert.Equal(t, shared.StatusCompleted, answer.Result.Status)
		assert.Empty(t, answer.ID)
	})
	t.Run("should return true for dev commands with output after 2s", func(t *testing.T) {
		t.Parallel()
		answer := a.runs("cd . && FOO=1 ./npm dev")
		assert.Equal(t, shared.StatusRunning, answer.Result.Status)
		assert.GreaterOrEqual(t, answer.Result.Duration, 2*time.Second)
		assert.False(t, answer.IsError)
		assert.Equal(t, strings.Join([]string{
			"Command has been moved to background execution.",
			"Task ID: " + answer.ID,
			"Command: cd . && FOO=1 ./npm dev",
			"",
			"Initial output:",
			"Server running",
			"",
			"Use bash_output tool with task_id to read further output.",
			"Use kill_bash tool with task_id to terminate the task.",
		}, "\n"), answer.Text)
		assert.False(t, a.use("kill_bash", args{"task_id": answer.ID}).IsError)
	})
}

// The steps of a person who tries the tool.
func TestManualTesting(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	var id string

	t.Run("Test basic bash command (should work as before)", func(t *testing.T) {
		answer := a.runs("echo file.txt; echo warn >&2")
		assert.False(t, answer.IsError)
		assert.Equal(t, strings.Join([]string{
			"Command: echo file.txt; echo warn >&2",
			"Directory: " + a.dir,
			"Stdout: file.txt",
			"Stderr: warn",
			"Error: (none)",
			"Exit Code: 0",
			"Signal: (none)",
			"Background PIDs: (none)",
			fmt.Sprintf("Process Group PGID: %d", answer.Result.PID),
		}, "\n"), answer.Text)
	})
	t.Run("Test explicit background execution", func(t *testing.T) {
		answer := a.run(args{"command": "sleep 10", "run_in_background": true})
		assert.Less(t, answer.Result.Duration, 8*time.Second)
		id = regexp.MustCompile(`\nTask ID: (task_\w+)\n`).FindStringSubmatch(answer.Text)[1]
		assert.Equal(t, answer.ID, id)
	})
	t.Run("Test bash_output tool", func(t *testing.T) {
		answer := a.use("bash_output", args{"task_id": id})
		assert.Regexp(t, `^Command: sleep 10\nStatus: running\nPID: \d+\nCreated: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n\nOutput:\n\(no output yet\)$`, answer.Text)
		assert.False(t, a.use("kill_bash", args{"task_id": id}).IsError)
	})
	t.Run("Test automatic background detection", func(t *testing.T) {
		script := "#!/bin/sh\necho \"> $*\"; exec sleep 1000\n"
		require.NoError(t, os.WriteFile(filepath.Join(a.dir, "npm"), []byte(script), 0o700))
		answer := a.runs("PATH=.:$PATH npm run dev")
		assert.False(t, answer.IsError)
		assert.GreaterOrEqual(t, answer.Result.Duration, 2*time.Second)
		assert.Regexp(t, `^Command has been moved to background execution\.\nTask ID: task_\w+\n(.*\n)+Initial output:\n> run dev\n`, answer.Text)
		id = answer.ID
	})
	t.Run("Test kill_bash tool", func(t *testing.T) {
		answer := a.use("kill_bash", args{"task_id": id})
		assert.False(t, answer.IsError)
		assert.Equal(t, "Successfully terminated task "+id+" (PATH=.:$PATH npm run dev)", answer.Text)
		assert.False(t, plugintest.Alive(answer.Result.PID))
	})
}

func TestTaskIDFailureIsAResult(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	answer := a.runs("exit 3")
	assert.False(t, answer.IsError)
	assert.Contains(t, answer.Text, "\nExit Code: 3\nSignal: (none)\n")
	answer = a.runs("kill -9 $$")
	assert.False(t, answer.IsError)
	assert.Contains(t, answer.Text, "\nExit Code: 137\nSignal: SIGKILL\n")
}

func TestTaskIDTimeout(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	answer := a.run(args{"command": "echo begun; sleep 30", "timeout": 3000})
	assert.Equal(t, "Command execution timed out and was cancelled. Below is the output (on stdout and stderr) before it was cancelled:\nbegun", answer.Text)
	answer = a.run(args{"command": "sleep 30", "timeout": 100})
	assert.Equal(t, "Command execution timed out and was cancelled. There was no output before it was cancelled.", answer.Text)
}

func TestTaskIDTimeoutsAreCutToTheMaximum(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for arguments, want := range map[string]time.Duration{
		`{"command":"x"}`:                                            10 * minute,
		`{"command":"x","timeout":null}`:                             10 * minute,
		`{"command":"x","timeout":0}`:                                10 * minute,
		`{"command":"x","timeout":60000}`:                            minute,
		`{"command":"x","timeout":600001}`:                           10 * minute,
		`{"command":"x","timeout":9223372036854775807}`:              10 * minute,
		`{"command":"x","timeout":1e300}`:                            10 * minute,
		`{"command":"x","run_in_background":true}`:                   0,
		`{"command":"x","run_in_background":true,"timeout":null}`:    0,
		`{"command":"x","run_in_background":true,"timeout":60000}`:   minute,
		`{"command":"x","run_in_background":true,"timeout":6000000}`: 10 * minute,
	} {
		bash := new(fake)
		newTools(t, tool.TaskID, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(arguments)})
		require.Len(t, bash.requests, 1, arguments)
		assert.Equal(t, want, bash.requests[0].(shared.ExecuteRequest).Timeout, arguments)
	}
}

func TestTaskIDReachesWhatACommandLeftRunning(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	answer := a.runs(leaves)
	child := answer.Result.Leftover[0].PID
	assert.Contains(t, answer.Text, fmt.Sprintf("\nBackground PIDs: %d\nProcess Group PGID: %d\nTask ID: %s ", child, answer.Result.PID, answer.ID))
	text := a.use("bash_output", args{"task_id": answer.ID}).Text
	assert.Contains(t, text, "Output:\nstarted\n\nExit Code: 0\nBackground PIDs: ")
	assert.False(t, a.use("kill_bash", args{"task_id": answer.ID}).IsError)
	plugintest.AwaitDeath(t, child)
}

func TestTaskIDCancelKillsTheCommand(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	ctx, cancel := context.WithCancel(t.Context())
	live := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	answer := a.Call(ctx, tool.Call{Name: "bash", Arguments: []byte(`{"command":"echo begun; ` + plugintest.Forever + `"}`), Live: live})
	assert.Equal(t, "Command execution was cancelled. Below is the output (on stdout and stderr) before it was cancelled:\nbegun", answer.Text)
	assert.False(t, plugintest.Alive(answer.Result.PID))
}

// task starts a command in the background and returns its id.
func (a *agent) task(command string) string {
	a.t.Helper()
	answer := a.run(args{"command": command, "run_in_background": true})
	require.False(a.t, answer.IsError, answer.Text)
	require.NotEmpty(a.t, answer.ID)
	return answer.ID
}

// recorder is a live writer that keeps everything.
type recorder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}
