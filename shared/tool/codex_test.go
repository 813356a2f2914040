//go:build unix

package tool_test

import (
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

const wall = `^Chunk ID: \w{6}\nWall time: \d+\.\d{4} seconds\n`

func TestCodexShapes(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Codex)
	answer := a.use("exec_command", args{"cmd": "pwd; echo err >&2; exit 3"})
	assert.Regexp(t, wall+`Process exited with code 3\nOriginal token count: \d+\nOutput:\n`+a.dir+`\nerr\n$`, answer.Text)
	assert.False(t, answer.IsError)
	answer = a.use("exec_command", args{"cmd": "seq 1000", "max_output_tokens": 10, "yield_time_ms": 30000})
	assert.Regexp(t, wall+`Process exited with code 0\nOriginal token count: 974\nOutput:\nWarning: truncated output \(original token count: 974\)\nTotal output lines: 1000\n\n1\n2\n3\n4\n5\n6\n7\n8\n9\n…965 tokens truncated…997\n998\n999\n1000\n\[Full output: /\S+\]$`, answer.Text)
}

func TestCodexTalksToASession(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Codex)
	answer := a.use("exec_command", args{"cmd": "read -rp 'Name? ' name; echo hello $name; exec sleep 1000", "tty": true, "yield_time_ms": 300})
	require.Regexp(t, wall+`Process running with session ID \d+\nOriginal token count: `, answer.Text)
	id, err := strconv.Atoi(answer.ID)
	require.NoError(t, err)
	a.collect("write_stdin", args{"session_id": id, "yield_time_ms": 100}, answer.Text, "Name? ")
	text := a.use("write_stdin", args{"session_id": id, "chars": "Ann\r", "yield_time_ms": 500}).Text
	a.collect("write_stdin", args{"session_id": id, "yield_time_ms": 100}, text, "hello Ann")
	text = a.use("write_stdin", args{"session_id": id, "chars": "\x03", "yield_time_ms": 60000}).Text
	assert.Regexp(t, wall+`Process exited with code 130\n`, text)
	answer = a.use("write_stdin", args{"session_id": id, "chars": "x"})
	assert.Regexp(t, wall+`Process exited with code 130\nOriginal token count: 0\nOutput:\n$`, answer.Text)
	answer = a.use("write_stdin", args{"session_id": 1})
	assert.Contains(t, answer.Text, `write_stdin failed: there is no background process with the id "1"`)
}

// What is typed into a session that has just ended is lost, its last output and exit code are not.
func TestCodexWritesToASessionThatHasEnded(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Codex)
	open := a.door("more")
	session := a.use("exec_command", args{"cmd": "echo first; read <more; echo last; exit 5", "yield_time_ms": 300, "shell": "/bin/bash", "login": true, "justification": "?", "prefix_rule": []string{"echo"}})
	open()
	a.awaitEnd(session.Result.PID)
	text := a.use("write_stdin", args{"session_id": session.Result.PID, "chars": "x"}).Text
	assert.Regexp(t, wall+`Process exited with code 5\nOriginal token count: 2\nOutput:\nlast\n$`, text, "the tokens are those of this answer")
}

func TestCodexEndsASessionWithoutATerminal(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Codex)
	session := a.use("exec_command", args{"cmd": "echo begun; " + plugintest.Forever, "yield_time_ms": 300})
	text := a.use("write_stdin", args{"session_id": session.Result.PID, "chars": "\x03"}).Text
	assert.Regexp(t, wall+`Process exited with code 130\n`, text)
	assert.False(t, plugintest.Alive(session.Result.PID))
	session = a.use("exec_command", args{"cmd": plugintest.Forever, "yield_time_ms": 300})
	answer := a.use("write_stdin", args{"session_id": session.Result.PID, "chars": "x"})
	assert.Contains(t, answer.Text, "start the command with one, by tty")
}

func TestNativeTalksToAJob(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	answer := a.run(args{"command": "read -r a; read -r b; echo $a-$b; wc -c", "input": "one\n", "timeout": 1})
	assert.Contains(t, answer.Text, "\n[It waits for input on its stdin: send some with bash_input.]")
	answer = a.use("bash_input", args{"id": answer.ID, "input": "two\n12345", "close_input": true, "wait": 60})
	assert.Equal(t, "one-two\n5\n[job "+answer.ID+" ended with exit code 0]", answer.Text)
	answer = a.run(args{"command": "printf 'one\\n\\033[2Jtwo\\033[1;1Hthree'; read -r line; exit 7", "tty": true, "timeout": 1})
	assert.Regexp(t, `^three\n( +)?two\n\[job `+answer.ID+` is running, .* above is its screen\]\n\[Full output: /\S+\]\n\[It waits for input on its stdin`, answer.Text)
	answer = a.use("bash_input", args{"id": answer.ID, "input": "\r", "wait": 60})
	assert.Contains(t, answer.Text, "ended with exit code 7")
}

// Every dialect says what a command waits for and
// which errors its answer leaves out.
func TestAnswersSayWhatMatters(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		r := &shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1, Waiting: "lock /a b", Duration: 40500 * time.Millisecond, Stdout: shared.Output{Notable: []shared.Line{{Number: 3, Text: "error: x"}, {Number: 12, Text: "fatal"}}}}
		tools := newTools(t, dialect, always(r))
		text := tools.Call(t.Context(), tool.Call{Name: runTool(dialect), Arguments: []byte(`{"command":"ls"}`)}).Text
		assert.True(t, strings.HasSuffix(text, "\n[Lines left out that look like errors:\n3: error: x\n12: fatal]\n[It has written nothing for 40s and waits for a lock on /a b.]"), text)
		r.Stdout.TotalBytes = 20
		assert.Contains(t, tools.Call(t.Context(), tool.Call{Name: runTool(dialect), Arguments: []byte(`{"command":"ls"}`)}).Text, "\n[It waits for a lock on /a b.]")
	}
	tools := newTools(t, tool.Codex, always(&shared.Result{PID: 7, Status: shared.StatusRunning, Waiting: "network 1.2.3.4:5"}))
	assert.Contains(t, tools.Call(t.Context(), tool.Call{Name: "exec_command", Arguments: []byte(`{"cmd":"ls"}`)}).Text, "1.2.3.4")
	tools = newTools(t, tool.Codex, always(&shared.Result{PID: 7, Status: shared.StatusRunning, Waiting: "input"}))
	assert.Contains(t, tools.Call(t.Context(), tool.Call{Name: "exec_command", Arguments: []byte(`{"cmd":"ls"}`)}).Text, "send some with write_stdin.")
	for _, dialect := range withCommand() {
		a := newAgent(t, dialect)
		text := a.runs("echo 'the build failed'; seq 1000000; exit 1").Text
		if dialect != tool.Mode { // which shows the beginning
			assert.Contains(t, text, "\n[Lines left out that look like errors:\n1: the build failed]", dialect)
		}
	}
}
