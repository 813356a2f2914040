//go:build unix

package tool_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

func TestClaudeForeground(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Claude)
	for command, want := range map[string]string{
		"echo out; echo err >&2":         "out\nerr",
		"echo out; echo err >&2; exit 3": "Exit code 3\nout\nerr",
		"exit 1":                         "Exit code 1",
		"true":                           "(Bash completed with no output)",
		"printf '\\e[1m' >&2; echo out":  "out",
		"printf '\\e[1m' >&2":            "[4 bytes that are not text]",
	} {
		answer := a.run(args{"command": command, "description": "Try a command"})
		assert.Equal(t, want, answer.Text)
		assert.Equal(t, strings.HasPrefix(want, "Exit"), answer.IsError)
	}
	answer := a.runs("yes | head -c 40000")
	assert.Len(t, answer.Result.Stdout.Content, 30000)
	assert.Regexp(t, `^\[Command ended with exit code \d+\]\n\[stdout: Showing last 15000 of 20000 lines\. Full output: \S+\]\n`, answer.Text)
}

func TestClaudeDefaults(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]time.Duration{`{"command":"x"}`: 2 * time.Minute, `{"command":"x","timeout":"600000"}`: 10 * time.Minute} {
		bash := new(fake)
		newTools(t, tool.Claude, bash).Call(t.Context(), tool.Call{Name: "Bash", Arguments: []byte(arguments)})
		assert.Equal(t, want, bash.requests[0].(shared.ExecuteRequest).Timeout)
	}
	refused(t, tool.Claude, "Bash", []refusal{
		{"too long", `{"command":"x","timeout":600001}`, "timeout is out of range: give a number from 0 to 600000"},
	})
	refused(t, tool.Claude, "BashOutput", []refusal{
		{"no pattern", `{"bash_id":"x","filter":"["}`, "filter is no regular expression of at most 1000 bytes, in Go's syntax: error parsing regexp: missing closing ]: `[`"},
	})
}

func TestClaudeBackground(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Claude)
	open := a.door("more")
	started := a.run(args{"command": "echo one; echo two; echo oops >&2; read < more; echo ready; " + plugintest.Forever, "run_in_background": true})
	id := oneOf(t, `^Command running in background with ID: (bash_\w+)\. Output is being written to: /\S+\.log\. TaskOutput waits for its end and shows its output, TaskStop ends it\.$`, started.Text)
	assert.Equal(t, id, started.ID)

	text := a.collect("BashOutput", args{"bash_id": id, "filter": "^t|oo"}, "", "two", "oops")
	assert.Contains(t, text, "<status>running</status>\n\n<stdout>\ntwo\n</stdout>")
	assert.Contains(t, text, "<stderr>\noops\n</stderr>")
	assert.NotContains(t, text, "one")
	assert.NotContains(t, text, "exit_code")

	open()
	answer := a.use("BashOutput", args{"bash_id": id, "wait_for": "^ready$"})
	assert.Equal(t, "<status>running</status>\n\n<stdout>\nready\n</stdout>", answer.Text)
	answer = a.use("BashOutput", args{"bash_id": id, "wait_for": "never", "wait": 1})
	assert.Equal(t, "<status>running</status>\n\nNote: the output has not matched wait_for", answer.Text)

	answer = a.use("KillShell", args{"shell_id": id})
	assert.False(t, answer.IsError)
	line, _, _ := strings.Cut(answer.Text, "\n")
	var killed map[string]string
	require.NoError(t, json.Unmarshal([]byte(line), &killed), answer.Text)
	assert.Equal(t, id, killed["shell_id"])
	assert.Regexp(t, regexp.QuoteMeta("Shell "+id+" terminated."), killed["message"])
	assert.False(t, plugintest.Alive(started.Result.PID))
	assert.Regexp(t, `^\[Command killed\]\n\[stdout: 3 lines, not shown again\.[^<]*\]\n<status>killed</status>\n\n<exit_code>143</exit_code>$`, a.use("BashOutput", args{"bash_id": id}).Text)
	assert.Contains(t, a.use("KillShell", args{"shell_id": id}).Text, "had already ended")

	answer = a.use("BashOutput", args{"bash_id": "lost"})
	assert.True(t, answer.IsError)
	assert.Contains(t, answer.Text, `there is no background task "lost". There are `+id+".")
}

func TestClaudeTimeoutMovesToTheBackground(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Claude)
	open := a.door("more")
	answer := a.run(args{"command": "echo first; read < more; exit 3", "timeout": 3000})
	assert.False(t, answer.IsError)
	assert.Regexp(t, "^Command running in background with ID: "+answer.ID+`\. .*\nfirst$`, answer.Text)
	open()
	text := a.use("BashOutput", args{"bash_id": answer.ID, "wait": 60000}).Text
	assert.Equal(t, "<status>failed</status>\n\n<exit_code>3</exit_code>", text)
	answer = a.runs(leaves)
	child := answer.Result.Leftover[0]
	still := fmt.Sprintf("%d (%s)", child.PID, child.Command)
	assert.Contains(t, answer.Text, "Command ended with exit code 0, but left running "+still+". ID: "+answer.ID+". ")
	assert.Contains(t, a.use("BashOutput", args{"bash_id": answer.ID}).Text, "<status>completed</status>\n\n<exit_code>0</exit_code>\n\nStill running: "+still+".")
	assert.Contains(t, a.use("KillShell", args{"shell_id": answer.ID}).Text, "It also ended "+still+".")
	answer = a.runs("bash -c 'read < /dev/zero & wait' & echo started")
	assert.Contains(t, a.use("KillShell", args{"shell_id": answer.ID}).Text, "/dev/zero & wait", "not escaped")
	assert.NotContains(t, a.use("BashOutput", args{"bash_id": answer.ID}).Text, "Still running")
}

// The filter is for the command's lines, not for what the tool says about them.
func TestClaudeFilterKeepsTheNotes(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Claude)
	id := a.run(args{"command": "echo one; printf two; " + plugintest.Forever, "run_in_background": true}).ID
	both := args{"bash_id": id, "wait_for": "two", "filter": "t"}
	assert.NotContains(t, a.use("BashOutput", both).Text, "<stdout>")
	assert.NotContains(t, a.use("BashOutput", args{"bash_id": id, "filter": "t"}).Text, "<stdout>")
	assert.Contains(t, a.use("BashOutput", args{"bash_id": id}).Text, "<stdout>\ntwo\n[the line above is not finished]\n</stdout>")
	id = a.run(args{"command": "echo one; printf two; " + plugintest.Forever, "run_in_background": true}).ID
	first := args{"bash_id": id, "wait_for": "two", "filter": "o.e"}
	assert.Contains(t, a.use("BashOutput", first).Text, "<stdout>\none\n</stdout>")
}

// A filter sees whole lines, though a line is written in two parts.
func TestClaudeFilterSeesWholeLines(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Claude)
	open := a.door("more")
	id := a.run(args{"command": "printf 'no\nfound it: '; read < more; echo here; echo no; printf rest; " + plugintest.Forever, "run_in_background": true}).ID
	text := a.use("BashOutput", args{"bash_id": id, "filter": "found.*here", "wait_for": "it: "}).Text
	assert.NotContains(t, text, "<stdout>")
	open()
	text = a.use("BashOutput", args{"bash_id": id, "filter": "found.*here", "wait_for": "rest"}).Text
	assert.Contains(t, text, "<stdout>\nfound it: here\n</stdout>")
	text = a.use("KillShell", args{"shell_id": id}).Text
	assert.Contains(t, text, "<stdout>\nrest\n</stdout>", "what no filter has seen is not lost")
}

// A model that is trained on Claude Code's own tools knows these shapes.
func TestClaudeTasks(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Claude)
	open := a.door("more")
	id := a.run(args{"command": "echo one; read < more; echo two; exit 4", "run_in_background": true, "dangerouslyDisableSandbox": true}).ID
	shape := "<retrieval_status>%s</retrieval_status>\n\n<task_id>" + id + "</task_id>\n\n<task_type>local_bash</task_type>\n\n"
	text := a.collect("TaskOutput", args{"task_id": id, "block": false}, "", "one")
	assert.Contains(t, text, fmt.Sprintf(shape, "not_ready")+"<status>running</status>\n\n<output>\none\n</output>")
	text = a.use("TaskOutput", args{"task_id": id, "block": true, "timeout": 1}).Text
	assert.Equal(t, fmt.Sprintf(shape, "timeout")+"<status>running</status>\n\n<output>\none\n</output>", text)
	open()
	text = a.use("TaskOutput", args{"task_id": id, "timeout": 60000}).Text
	assert.Equal(t, fmt.Sprintf(shape, "success")+"<status>failed</status>\n\n<exit_code>4</exit_code>\n\n<output>\none\ntwo\n</output>", text)

	started := a.run(args{"command": "echo begun; " + plugintest.Forever, "run_in_background": true})
	text = a.use("TaskStop", args{"task_id": started.ID}).Text
	command := "echo begun; " + plugintest.Forever
	assert.JSONEq(t, `{"message":"Successfully stopped task: `+started.ID+` (`+command+`)","task_id":"`+started.ID+`","task_type":"local_bash","command":"`+command+`"}`, text)
	assert.False(t, plugintest.Alive(started.Result.PID))
	assert.Contains(t, a.use("TaskStop", args{"task_id": started.ID}).Text, "had already ended")
	assert.Contains(t, a.use("TaskOutput", args{"task_id": "nope"}).Text, "there is no background task")
}
