//go:build unix

package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

func TestCheckPIDOfAChild(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)
	r := a.runs(plugintest.Forever + " & echo up").Result
	child := r.Leftover[0]
	belongs := fmt.Sprintf("[%d belongs to the command with pid %d; a kill ends all of it. ", child.PID, r.PID)
	text := a.use("bash", args{"check_pid": child.PID}).Text
	assert.Contains(t, text, fmt.Sprintf("%sProcess %d exited with code 0. Still running: %d (", belongs, r.PID, child.PID))
	text = a.use("bash", args{"kill_pid": child.PID}).Text
	assert.Contains(t, text, fmt.Sprintf("%sProcess %d had exited with code 0; "+
		"nothing that it started is running any more. It also ended %d (", belongs, r.PID, child.PID))
}

// A pid from a list of left-over processes does for the id of the job.
func TestThePidOfAChildIsAnID(t *testing.T) {
	t.Parallel()
	for dialect, names := range map[tool.Dialect]struct{ output, kill, id, killID string }{
		tool.Native: {"bash_job", "bash_kill", "id", "id"}, tool.Claude: {"BashOutput", "KillShell", "bash_id", "shell_id"},
		tool.TaskID: {"bash_output", "kill_bash", "task_id", "task_id"}, tool.BashID: {"bash_output", "kill_bash", "bash_id", "bash_id"},
	} {
		a := newAgent(t, dialect)
		r := a.runs(leaves).Result
		child := fmt.Sprint(r.Leftover[0].PID)
		assert.Equal(t, r.PID, a.use(names.output, args{names.id: child}).Result.PID, dialect)
		assert.True(t, a.use(names.output, args{names.id: fmt.Sprint(os.Getpid())}).IsError, dialect)
		assert.False(t, a.use(names.kill, args{names.killID: child}).IsError, dialect)
		assert.False(t, plugintest.Alive(r.Leftover[0].PID), dialect)
	}
}

// A wait that MaxWait cuts says so, and the definitions do not promise more.
func TestACutWaitSaysSo(t *testing.T) {
	t.Parallel()
	const limit = "; a call waits at most 0.2s"
	for dialect, names := range map[tool.Dialect]struct{ output, id string }{tool.Native: {"bash_job", "id"}, tool.Claude: {"BashOutput", "bash_id"}} {
		a := newAgentWith(t, dialect, plugin, tool.Options{MaxWait: 200 * time.Millisecond})
		id := a.runs("echo up; " + plugintest.Forever).ID
		text := a.use(names.output, args{names.id: id, "wait": 600}).Text
		assert.Regexp(t, "(; |Note: )a call waits at most 0.2s", text)
		text = a.use(names.output, args{names.id: id, "wait": 600, "wait_for": "never"}).Text
		assert.Contains(t, text, "the output has not matched wait_for"+limit)
		text = a.use(names.output, args{names.id: id}).Text
		assert.NotContains(t, text, "at most")
		for _, d := range a.Definitions()[:2] {
			assert.Regexp(t, `at most \d+`+limit, string(d.InputSchema), d.Name)
		}
		a.use(map[tool.Dialect]string{tool.Native: "bash_kill", tool.Claude: "KillShell"}[dialect],
			args{map[tool.Dialect]string{tool.Native: "id", tool.Claude: "shell_id"}[dialect]: id})
	}
}

func TestATaskThatTimedOutSaysSo(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.TaskID)
	answer := a.run(args{"command": plugintest.Forever, "timeout": 300, "run_in_background": true})
	a.awaitEnd(answer.Result.PID)
	text := a.use("bash_output", args{"task_id": answer.ID}).Text
	assert.Contains(t, text, "\nStatus: killed\nCommand timed out and was killed.\nPID: ")

	assert.Equal(t, "Task nope not found. There are "+answer.ID+".", a.use("bash_output", args{"task_id": "nope"}).Text)
}

func TestAToolWithoutArgumentsTakesNone(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	for _, none := range []string{"", " ", `""`, "null", "{}"} {
		assert.Equal(t, "[no jobs]", a.Call(t.Context(), tool.Call{Name: "bash_jobs", Arguments: json.RawMessage(none)}).Text, "%q", none)
	}
	assert.True(t, a.Call(t.Context(), tool.Call{Name: "bash_jobs", Arguments: json.RawMessage(`[]`)}).IsError)
	assert.True(t, a.Call(t.Context(), tool.Call{Name: "bash"}).IsError)
}
