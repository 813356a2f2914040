//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// What each dialect makes of accounts in every state, word for word.

// text is what a dialect says about an account.
type text struct {
	name    string
	result  shared.Result
	want    string
	isError bool
}

// asks is a call of bash with these arguments beside the command.
func asks(t *testing.T, dialect tool.Dialect, arguments args, tests []text) {
	t.Helper()
	if arguments["check_pid"] == nil && arguments["kill_pid"] == nil {
		arguments["command"] = "x"
	}
	raw, err := json.Marshal(arguments)
	require.NoError(t, err)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer := newTools(t, dialect, always(&test.result)).Call(t.Context(), tool.Call{Name: "bash", Arguments: raw})
			want := strings.ReplaceAll(test.want, "<id>", answer.ID)
			assert.Equal(t, want, answer.Text)
			assert.Equal(t, test.isError, answer.IsError)
			assert.Same(t, &test.result, answer.Result)
		})
	}
}

var (
	small    = shared.Output{Content: "out\n", TotalLines: 1, TotalBytes: 4, OutputLines: 1, OutputBytes: 4}
	unended  = shared.Output{Content: "no newline", TotalLines: 1, TotalBytes: 10, OutputLines: 1, OutputBytes: 10}
	cutLines = shared.Output{Content: "b\nc\n", Truncated: true, TruncatedBy: "lines", TotalLines: 8500, TotalBytes: 99999, OutputLines: 2, OutputBytes: 4, Path: "/log/1.stdout.log"}
	cutLine  = shared.Output{Content: "zzz", Truncated: true, TruncatedBy: "bytes", LastLinePartial: true, TotalLines: 1, TotalBytes: 99999, OutputLines: 1, OutputBytes: 3, Path: "/log/1.stdout.log"}
	logged   = shared.Output{Content: "out\n", TotalLines: 1, TotalBytes: 4, OutputLines: 1, OutputBytes: 4, Path: "/log/1.stdout.log"}
	logged2  = shared.Output{Content: "err\n", TotalLines: 1, TotalBytes: 4, OutputLines: 1, OutputBytes: 4, Path: "/log/1.stderr.log"}
)

func broke(o shared.Output, path, why string) shared.Output {
	o.Path, o.PathError = path, why
	return o
}

var left = []shared.Process{{PID: 8, Command: "sleep 9"}, {PID: 9, Command: "evil\n\x1b[31m" + strings.Repeat("é", 60)}}

const leftText = "8 (sleep 9), 9 (evil  [31m" // and the beginning of the é

var leftNames = leftText + strings.Repeat("é", 35) + "…)"

func TestTextOfCheckPIDExecute(t *testing.T) {
	t.Parallel()
	killed := func(cause shared.Cause) shared.Result {
		return shared.Result{PID: 7, Status: shared.StatusKilled, Cause: cause, ExitCode: 143, Signal: "SIGTERM", Stdout: small}
	}
	asks(t, tool.CheckPID, args{"timeout": 1500}, []text{
		{"completed", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: small}, "stdout:\nout\n\nexit code: 0", false},
		{"both streams", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: unended, Stderr: small}, "stdout:\nno newline\n\nstderr:\nout\n\nexit code: 0", false},
		{"silent", shared.Result{PID: 7, Status: shared.StatusCompleted}, "exit code: 0", false},
		{"failed", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 2, Stderr: small}, "stderr:\nout\n\nexit code: 2", true},
		{"signal from elsewhere", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 137, Signal: "SIGKILL"}, "exit code: 137 (SIGKILL)", true},
		{"truncated", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: cutLines},
			"[Command ended with exit code 0]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\nstdout:\nb\nc\n\nexit code: 0", false},
		{"one long line", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: cutLine},
			"[Command ended with exit code 0]\n[stdout: Showing last 3 of 99999 bytes, the end of a long line. Full output: /log/1.stdout.log]\nstdout:\nzzz\n\nexit code: 0", false},
		{"log incomplete", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: small, Stderr: broke(cutLines, "/log/2", "disk full")},
			"[Command ended with exit code 0]\n[stderr: Showing last 2 of 8500 lines. Full output file is incomplete: /log/2 (disk full)]\nstdout:\nout\n\nstderr:\nb\nc\n\nexit code: 0", false},
		{"no log", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: broke(cutLines, "", "disk full")},
			"[Command ended with exit code 0]\n[stdout: Showing last 2 of 8500 lines. The rest was not kept: disk full]\nstdout:\nb\nc\n\nexit code: 0", false},
		{"no log, and nobody knows why", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: broke(cutLines, "", "")},
			"[Command ended with exit code 0]\n[stdout: Showing last 2 of 8500 lines. The rest was not kept.]\nstdout:\nb\nc\n\nexit code: 0", false},
		{"leftover", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: logged, Leftover: left},
			"stdout:\nout\n\nexit code: 0\n[Still running in the background: " + leftNames + ". Use check_pid or kill_pid with 7 to manage.]", false},
		{"cancelled", killed(shared.CauseCancel), "[Command cancelled and killed.]\n\nstdout:\nout\n\nexit code: 143 (SIGTERM)\n[context canceled]", true},
		{"session closed", killed(shared.CauseClose), "[Command killed: the session was closed.]\n\nstdout:\nout\n\nexit code: 143 (SIGTERM)", true},
		{"timed out all the same", killed(shared.CauseTimeout), "[Command timed out after 1.5s and was killed.]\n\nstdout:\nout\n\nexit code: 143 (SIGTERM)", true},
		{"killed by the host", killed(shared.CauseKill), "[Command killed.]\n\nstdout:\nout\n\nexit code: 143 (SIGTERM)", true},
		{"not started", shared.Result{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1}, "[Command cancelled before it was started: nothing was run.]\n[context canceled]", true},
		{"backgrounded", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: logged, Stderr: logged2},
			"[Command backgrounded after 1.5s (pid 7).\n\nstdout:\nout\n\nstderr:\nerr\n\nFull output: /log/1.stdout.log\nFull output: /log/1.stderr.log\nUse check_pid or kill_pid to manage.]", false},
		{"backgrounded, truncated", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: cutLines},
			"[Command is running, for 0s]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\n[Command backgrounded after 1.5s (pid 7).\n\nstdout (last 2 lines):\nb\nc\n\nFull output: /log/1.stdout.log\nUse check_pid or kill_pid to manage.]", false},
		{"backgrounded, one log incomplete", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: cutLine, Stderr: broke(logged2, "/log/2", "disk full")},
			"[Command is running, for 0s]\n[stdout: Showing last 3 of 99999 bytes, the end of a long line. Full output: /log/1.stdout.log]\n[Command backgrounded after 1.5s (pid 7).\n\nstdout (last 3 bytes):\nzzz\n\nstderr:\nerr\n\nFull output: /log/1.stdout.log\nFull output file is incomplete: /log/2 (disk full)\nUse check_pid or kill_pid to manage.]", false},
		{"backgrounded, silent, no log", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1},
			"[Command backgrounded after 1.5s (pid 7).\n\nUse check_pid or kill_pid to manage.]", false},
	})
}

func TestTextOfCheckPIDCheck(t *testing.T) {
	t.Parallel()
	asks(t, tool.CheckPID, args{"check_pid": 7}, []text{
		{"running", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: logged},
			"[Process 7 still running.\n\nNew output since last check (1 line):\nout\n\nFull output: /log/1.stdout.log]", false},
		{"running, truncated", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: cutLines, Stderr: cutLine},
			"[Command is running, for 0s]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\n[stderr: Showing last 3 of 99999 bytes, the end of a long line. Full output: /log/1.stdout.log]\n[Process 7 still running.\n\nNew output since last check (last 2 lines):\nb\nc\n\nNew stderr since last check (last 3 bytes):\nzzz\n\nFull output: /log/1.stdout.log\nFull output: /log/1.stdout.log]", false},
		{"running, nothing new", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1},
			"[Process 7 still running. No new output since last check.]", false},
		{"exited", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: cutLines},
			"[Command ended with exit code 0]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\n[Process 7 exited with code 0.\n\nstdout (last 2 lines):\nb\nc\n\nFull output: /log/1.stdout.log]", false},
		{"failed", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 137, Signal: "SIGKILL", Stdout: logged},
			"[Process 7 exited with code 137 (SIGKILL).\n\nstdout:\nout\n\nFull output: /log/1.stdout.log]", true},
		{"leftover", shared.Result{PID: 7, Status: shared.StatusCompleted, Leftover: left[:1]},
			"[Process 7 exited with code 0. Still running: 8 (sleep 9).]", false},
		{"session closed", shared.Result{PID: 7, Status: shared.StatusKilled, Cause: shared.CauseClose, ExitCode: 143, Signal: "SIGTERM"},
			"[Process 7 exited with code 143 (SIGTERM). Command killed: the session was closed.]", true},
	})
}

func TestTextOfCheckPIDKill(t *testing.T) {
	t.Parallel()
	asks(t, tool.CheckPID, args{"kill_pid": 7}, []text{
		{"running", shared.Result{PID: 7, Status: shared.StatusKilled, Cause: shared.CauseKill, ExitCode: 143, Signal: "SIGTERM", Stdout: logged},
			"[Process 7 killed.\n\nstdout:\nout\n\nFull output: /log/1.stdout.log]", false},
		{"finished", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 3, Stdout: logged},
			"[Process 7 had exited with code 3; nothing that it started is running any more.\n\nstdout:\nout\n\nFull output: /log/1.stdout.log]", false},
		{"stuck", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1},
			"[Process 7 was sent SIGKILL, but the system does not let it end (it hangs, or runs as another user).]", true},
	})
}

func TestTextOfMode(t *testing.T) {
	t.Parallel()
	killed := func(cause shared.Cause) shared.Result {
		return shared.Result{PID: 7, Status: shared.StatusKilled, Cause: cause, ExitCode: 143, Signal: "SIGTERM", Stdout: small}
	}
	middle := shared.Output{Head: "first\n", Content: "last", Truncated: true, TruncatedBy: "bytes", TotalBytes: 3 << 20, TotalLines: 700, OutputLines: 2, OutputBytes: 10, Path: "/log/1"}
	parts := middle
	parts.Head, parts.OutputBytes, parts.StartsMidLine = "first", 9, true
	asks(t, tool.Mode, args{"mode": "slow"}, []text{
		{"completed", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: unended}, "no newline", false},
		{"silent", shared.Result{PID: 7, Status: shared.StatusCompleted}, "[no output]", false},
		{"failed", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 2, Stdout: small}, "[command failed: exit code 2]\nout\n", true},
		{"failed silently", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 2}, "[command failed: exit code 2]", true},
		{"signal from elsewhere", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 137, Signal: "SIGKILL"}, "[command failed: exit code 137 (SIGKILL)]", true},
		{"truncated", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: middle},
			"[output truncated in middle: got 3145728 bytes, showing 10; all of it: /log/1]\nfirst\n[snip: 3145718 bytes, 698 lines]\nlast", false},
		{"truncated within lines", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: parts},
			"[output truncated in middle: got 3145728 bytes, showing 9; all of it: /log/1]\nfirst…\n[snip: 3145719 bytes, 698 lines]\n…last", false},
		{"log incomplete", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 1, Stdout: broke(middle, "/log/1", "disk full")},
			"[command failed: exit code 1]\n[output truncated in middle: got 3145728 bytes, showing 10; Full output file is incomplete: /log/1 (disk full)]\nfirst\n[snip: 3145718 bytes, 698 lines]\nlast", true},
		{"leftover", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: logged, Leftover: left},
			"out\n[still running, output in /log/1.stdout.log; to stop: kill -9 8 9]", false},
		{"leftover, silent", shared.Result{PID: 7, Status: shared.StatusCompleted, Leftover: left}, "[no output]\n[still running; to stop: kill -9 8 9]", false},
		{"timed out", killed(shared.CauseTimeout), "[command timed out after 900s]\nout\n", true},
		{"cancelled", killed(shared.CauseCancel), "[command cancelled and killed]\nout\n", true},
		{"session closed", killed(shared.CauseClose), "[command killed: the session was closed]\nout\n", true},
		{"killed by the host", killed(shared.CauseKill), "[command killed]\nout\n", true},
		{"not started", shared.Result{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1}, "[command cancelled before it was started: nothing was run]", true},
		{"stuck", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: small}, "[command was sent SIGKILL, but the system does not let it end (it hangs, or runs as another user): pid 7]\nout\n", true},
	})
	asks(t, tool.Mode, args{"mode": "background"}, []text{
		{"background", shared.Result{PID: 7, Status: shared.StatusRunning, Stdout: broke(small, "", "disk full")},
			"<pid>7</pid>\n<output_file>none: disk full</output_file>\n<reminder>To stop: kill -9 -7</reminder>", false},
		{"background, not started", shared.Result{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1}, "[command cancelled before it was started: nothing was run]", true},
	})
}

func TestTextOfTaskID(t *testing.T) {
	t.Parallel()
	killed := func(cause shared.Cause, o shared.Output) shared.Result {
		return shared.Result{PID: 7, Status: shared.StatusKilled, Cause: cause, ExitCode: 143, Signal: "SIGTERM", Stdout: o}
	}
	const fields = "Command: x\nDirectory: /d\n"
	asks(t, tool.TaskID, args{}, []text{
		{"completed", shared.Result{PID: 7, Command: "x", Dir: "/d", Status: shared.StatusCompleted, Stdout: unended, Stderr: small},
			fields + "Stdout: no newline\nStderr: out\nError: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7", false},
		{"silent", shared.Result{PID: 7, Command: "x", Status: shared.StatusCompleted},
			"Command: x\nDirectory: (root)\nStdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7", false},
		{"failed, truncated", shared.Result{PID: 7, Command: "x", Dir: "/d", Status: shared.StatusFailed, ExitCode: 137, Signal: "SIGKILL", Stdout: cutLines},
			"[Command ended with exit code 137 (SIGKILL)]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\n" + fields + "Stdout: b\nc\nStderr: (empty)\nError: (none)\nExit Code: 137\nSignal: SIGKILL\nBackground PIDs: (none)\nProcess Group PGID: 7", false},
		{"leftover", shared.Result{PID: 7, Command: "x", Dir: "/d", Status: shared.StatusCompleted, Leftover: left},
			fields + "Stdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: 8, 9\nProcess Group PGID: 7\nTask ID: <id> (of the background PIDs; use bash_output to read their output, kill_bash to terminate them)", false},
		{"timed out", killed(shared.CauseTimeout, cutLines),
			"[Command timed out and was killed]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\nCommand execution timed out and was cancelled. Below is the output (on stdout and stderr) before it was cancelled:\nb\nc", false},
		{"cancelled", killed(shared.CauseCancel, shared.Output{}), "Command execution was cancelled. There was no output before it was cancelled.", false},
		{"session closed", killed(shared.CauseClose, small), "Command execution was cancelled: the session was closed. Below is the output (on stdout and stderr) before it was cancelled:\nout", false},
		{"not started", shared.Result{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1}, "Command execution was cancelled before it began. Nothing was run.", false},
		{"moved", shared.Result{PID: 7, Command: "x", Status: shared.StatusRunning, Stdout: logged, Stderr: logged2},
			"Command has been moved to background execution.\nTask ID: <id>\nCommand: x\n\nInitial output:\nout\n\nStderr:\nerr\n\nUse bash_output tool with task_id to read further output.\nUse kill_bash tool with task_id to terminate the task.", false},
		{"moved, silent", shared.Result{PID: 7, Command: strings.Repeat("x", 3000), Status: shared.StatusRunning},
			"Command has been moved to background execution.\nTask ID: <id>\nCommand: " + strings.Repeat("x", 2048) + "…\n\nInitial output:\n(no output yet)\n\nUse bash_output tool with task_id to read further output.\nUse kill_bash tool with task_id to terminate the task.", false},
	})
}

func TestTextOfTaskIDOutput(t *testing.T) {
	t.Parallel()
	r := shared.Result{PID: 7, Command: "x", Status: shared.StatusFailed, ExitCode: 3, Stdout: cutLines, Stderr: small, Started: time.Date(2025, 1, 27, 10, 0, 0, 5e6, time.UTC), Leftover: left}
	tools := newTools(t, tool.TaskID, always(&r))
	id := tools.Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"x","run_in_background":true}`)}).ID
	answer := tools.Call(t.Context(), tool.Call{Name: "bash_output", Arguments: []byte(`{"task_id":"` + id + `"}`)})
	assert.Equal(t, "[Command ended with exit code 3]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\nCommand: x\nStatus: failed\nPID: 7\nCreated: 2025-01-27T10:00:00.005Z\n\nOutput:\nb\nc\n\nStderr:\nout\n\nExit Code: 3\nBackground PIDs: 8, 9", answer.Text)
	answer = tools.Call(t.Context(), tool.Call{Name: "kill_bash", Arguments: []byte(`{"task_id":"` + id + `"}`)})
	assert.Equal(t, "Failed to terminate task "+id+": it was sent SIGKILL, but the system does not let it end (it hangs, or runs as another user).", answer.Text)
}

func TestTextOfBashID(t *testing.T) {
	t.Parallel()
	asks(t, tool.BashID, args{"timeout": 60000}, []text{
		{"completed", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: small}, "stdout:\nout\n\nexit code: 0", false},
		{"failed", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 2, Stderr: small}, "stderr:\nout\n\nexit code: 2", false},
		{"truncated", shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: cutLines},
			"[Command ended with exit code 0]\n[stdout: Showing last 2 of 8500 lines. Full output: /log/1.stdout.log]\nstdout:\nb\nc\n\nexit code: 0", false},
		{"leftover", shared.Result{PID: 7, Status: shared.StatusCompleted, Leftover: left[:1]},
			"exit code: 0\n[Still running in the background: 8 (sleep 9). Use bash_output or kill_bash with bash_id <id>.]", false},
		{"timed out", shared.Result{PID: 7, Status: shared.StatusKilled, Cause: shared.CauseTimeout, ExitCode: 143, Signal: "SIGTERM", Stdout: small},
			"[Command timed out after 60s and was killed.]\n\nstdout:\nout\n\nexit code: 143 (SIGTERM)\n[To run it longer, give a longer timeout or run_in_background=true.]", true},
		{"not started", shared.Result{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1}, "[Command cancelled before it was started: nothing was run.]", true},
		{"stuck", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: small},
			"[Command was sent SIGKILL, but the system does not let it end (it hangs, or runs as another user).]\n\nbash_id: <id>\nstatus: running\n\nstdout:\nout\n\nUse bash_output with this bash_id to read its output, kill_bash to terminate it.", true},
	})
	asks(t, tool.BashID, args{"run_in_background": true}, []text{
		{"background", shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Stdout: logged},
			"bash_id: <id>\nstatus: running\n\nstdout:\nout\n\nUse bash_output with this bash_id to read its output, kill_bash to terminate it.", false},
		{"background, over at once", shared.Result{PID: 7, Status: shared.StatusFailed, ExitCode: 127, Stderr: small},
			"bash_id: <id>\nstatus: failed\nexit code: 127\n\nstderr:\nout\n\nUse bash_output with this bash_id to read its output, kill_bash to terminate it.", false},
		{"background, not started", shared.Result{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1}, "[Command cancelled before it was started: nothing was run.]", true},
	})
}

// An error of the Bash is told, with what it says.
func TestTextOfErrors(t *testing.T) {
	t.Parallel()
	start := &shared.Error{Code: shared.CodeStart, Message: "cannot find bash"}
	lost := errors.Join(&shared.Error{Code: shared.CodeNotFound, Message: "job 7 (x) was ended when the plugin crashed"}, shared.ErrCrashed)
	for _, test := range []struct {
		dialect   tool.Dialect
		arguments string
		err       error
		want      string
	}{
		{tool.CheckPID, `{"command":"x"}`, start, "no result: cannot find bash"},
		{tool.CheckPID, `{"check_pid":7}`, shared.ErrClosed, "cannot check process 7: the session is closed"},
		{tool.CheckPID, `{"check_pid":7}`, shared.ErrNotFound, "no background process: no such job"},
		{tool.CheckPID, `{"kill_pid":7}`, lost, "cannot kill process 7: " + lost.Error()},
		{tool.Mode, `{"command":"x"}`, start, "[no result: cannot find bash]"},
		{tool.Native, `{"command":"x"}`, start, "START_FAILED: cannot find bash"},
		{tool.TaskID, `{"command":"x"}`, start, "Command execution failed: cannot find bash"},
		{tool.BashID, `{"command":"x"}`, start, "START_FAILED: cannot find bash"},
		{tool.BashID, `{"command":"x"}`, context.Canceled, "no result: context canceled"},
	} {
		answer := newTools(t, test.dialect, broken(test.err)).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(test.arguments)})
		assert.Equal(t, test.want, answer.Text)
		assert.True(t, answer.IsError)
		assert.ErrorIs(t, answer.Err, test.err)
		assert.Nil(t, answer.Result)
	}
}
