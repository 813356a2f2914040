//go:build unix

package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

func TestDefinitionsAreClosedSchemas(t *testing.T) {
	t.Parallel()
	want := map[tool.Dialect]map[string]string{
		tool.Codex:    {"exec_command": "cmd! workdir tty yield_time_ms max_output_tokens", "write_stdin": "session_id! chars yield_time_ms max_output_tokens"},
		tool.Native:   {"bash": "command! timeout background dir tty input", "bash_job": "id! wait wait_for all", "bash_input": "id! input close_input wait wait_for", "bash_kill": "id!", "bash_jobs": ""},
		tool.Claude:   {"Bash": "command! timeout description run_in_background", "TaskOutput": "task_id! block timeout", "TaskStop": "task_id!"},
		tool.CheckPID: {"bash": "command timeout check_pid kill_pid"},
		tool.Mode:     {"bash": "command! mode"},
		tool.TaskID:   {"bash": "command! timeout run_in_background", "bash_output": "task_id!", "kill_bash": "task_id!"},
		tool.BashID:   {"bash": "command! timeout run_in_background", "bash_output": "bash_id!", "kill_bash": "bash_id!"},
	}
	for _, dialect := range tool.Dialects() {
		got := make(map[string]string)
		for name, d := range define(t, dialect) {
			assert.Equal(t, name, d.Name)
			assert.NotEmpty(t, d.Description)
			got[name] = parameters(t, d.InputSchema)
		}
		assert.Equal(t, want[dialect], got, dialect)
	}
}

// parameters lists the properties of a schema in their order, with a ! after
// those that are required.
func parameters(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var schema struct {
		Type       string
		Properties json.RawMessage
		Required   []string
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&schema), "%s", raw)
	assert.Equal(t, "object", schema.Type)

	var list []string
	properties := json.NewDecoder(bytes.NewReader(schema.Properties))
	_, _ = properties.Token()
	for properties.More() {
		name, _ := properties.Token()
		var property struct {
			Type        any
			AnyOf       []struct{ Type string }
			Enum        []string
			Description string
		}
		require.NoError(t, properties.Decode(&property))
		assert.NotEmpty(t, property.Description)
		if property.Type == nil { // "5" is a number for us
			require.Len(t, property.AnyOf, 2)
			assert.Equal(t, "string", property.AnyOf[1].Type)
			property.Type = property.AnyOf[0].Type
		}
		assert.Contains(t, []any{"string", "integer", "boolean"}, property.Type)
		entry := name.(string)
		if slices.Contains(schema.Required, entry) {
			entry += "!"
		}
		list = append(list, entry)
	}
	assert.Equal(t, len(schema.Required), strings.Count(strings.Join(list, " "), "!"))
	return strings.Join(list, " ")
}

func TestDefinitionIsReadyForAModel(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(define(t, tool.Mode)["bash"])
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(text, &keys))
	assert.Len(t, keys, 3)
	assert.Equal(t, "bash", keys["name"])
	assert.Contains(t, keys["description"], "Executes shell commands via bash -c")
	assert.Equal(t, map[string]any{
		"type":     "object",
		"required": []any{"command"},
		"properties": map[string]any{
			"command": map[string]any{"type": "string", "description": "Shell command to execute via bash -c"},
			"mode": map[string]any{"type": "string", "enum": []any{"default", "slow", "background"},
				"description": "Execution mode: default (30s timeout), slow (15min timeout), background (detached)"},
		},
	}, keys["input_schema"])
}

func TestHints(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		for name, d := range define(t, dialect) {
			want := tool.Hints{ReadOnly: true} // so that clients do not ask their user at every poll
			switch name {
			case "bash", "Bash", "bash_input":
				want = tool.Hints{Destructive: true, OpenWorld: true}
			case "kill_bash", "TaskStop", "bash_kill":
				want = tool.Hints{Destructive: true, Idempotent: true}
			}
			assert.Equal(t, want, d.Hints, "%s: %s", dialect, name)
		}
	}
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	_, err := tool.New("check_pid", nil, tool.Options{})
	assert.ErrorContains(t, err, `unknown dialect "check_pid": use one of ["native" "claude" "codex" "check-pid" "mode" "task-id" "bash-id"]`)
	_, err = tool.New(tool.Mode, nil, tool.Options{Dir: "src"})
	assert.ErrorContains(t, err, "absolute path")
}

func TestDirIsWhereCommandsRun(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		for _, dir := range []string{"", "/some/where"} {
			bash := new(fake)
			tools, err := tool.New(dialect, bash, tool.Options{Dir: dir})
			require.NoError(t, err)
			tools.Call(t.Context(), tool.Call{Name: runTool(dialect), Arguments: []byte(`{"command":"ls"}`)})
			assert.Equal(t, dir, bash.requests[0].(shared.ExecuteRequest).Dir)
			require.NoError(t, tools.Close())
		}
	}
}

// Every dialect over one Bash: each knows only its own jobs by id, and all
// reach a job by its pid.
func TestToolsetsShareABash(t *testing.T) {
	t.Parallel()
	first := newAgent(t, tool.BashID)
	second := newAgentOver(t, tool.BashID, first.bash)
	third := newAgentOver(t, tool.CheckPID, first.bash)

	started := first.start("echo mine; " + plugintest.Forever)
	first.collect("bash_output", args{"bash_id": started.ID}, started.Text, "mine")
	assert.ErrorIs(t, second.output(started.ID).Err, shared.ErrNotFound)
	assert.ErrorIs(t, second.kill(started.ID).Err, shared.ErrNotFound)
	assert.True(t, plugintest.Alive(started.Result.PID))

	assert.Contains(t, third.run(args{"kill_pid": started.Result.PID}).Text, "stdout:\nmine\n")
	answer := first.kill(started.ID)
	assert.False(t, answer.IsError)
	assert.Equal(t, "Process "+started.ID+" is not running any more.", answer.Text)
	answer = first.output(started.ID)
	assert.True(t, answer.IsError)
	assert.Equal(t, "BASH_NOT_FOUND: the background process with the bash_id "+started.ID+" has ended and its output is not kept any more.", answer.Text)
}

func TestCallsAreConcurrent(t *testing.T) {
	t.Parallel()
	for _, dialect := range []tool.Dialect{tool.TaskID, tool.BashID} {
		a := newAgent(t, dialect)
		id := map[tool.Dialect]string{tool.TaskID: "task_id", tool.BashID: "bash_id"}[dialect]
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				answer := a.run(args{"command": "echo begun; " + plugintest.Forever, "run_in_background": true})
				assert.False(t, answer.IsError, answer.Text)
				a.use("bash_output", args{id: answer.ID})
				var kills sync.WaitGroup
				for range 3 {
					kills.Go(func() { a.use("kill_bash", args{id: answer.ID}) })
				}
				kills.Wait()
				assert.False(t, plugintest.Alive(answer.Result.PID))
			})
		}
		wg.Wait()
	}
}

func TestLiveShowsOutputAsItComes(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		a := newAgent(t, dialect)
		open := a.door("more")
		var live recorder
		opened := make(chan struct{})
		writer := writerFunc(func(p []byte) (int, error) {
			if n, err := live.Write(p); !strings.Contains(live.String(), "first") || !strings.Contains(live.String(), "second") {
				return n, err
			}
			select {
			case <-opened:
			default:
				close(opened)
				go open()
			}
			return len(p), nil
		})
		raw, err := json.Marshal(args{"command": "echo first; echo second >&2; read < more; echo third"})
		require.NoError(t, err)
		answer := a.Call(t.Context(), tool.Call{Name: runTool(dialect), Arguments: raw, Live: writer})
		assert.False(t, answer.IsError, answer.Text)
		<-opened
	}
}

// A job goes on writing when the call has returned; its live writer is not
// for that any more.
func TestLiveEndsWithTheCall(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	var live bytes.Buffer // not safe for concurrent use
	raw := []byte(`{"command":"while echo tick; do sleep 0.001; done","run_in_background":true}`)
	answer := a.Call(t.Context(), tool.Call{Name: "bash", Arguments: raw, Live: &live})
	before := live.Len()
	for range 4 { // it goes on
		a.collect("bash_output", args{"bash_id": answer.ID}, "", "tick\n")
	}
	assert.Equal(t, before, live.Len())
}

func TestALiveWriterThatFailsHurtsNobody(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.CheckPID)
	writer := writerFunc(func([]byte) (int, error) { return 0, errors.New("nobody listens") })
	answer := a.Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"seq 5; seq 5"}`), Live: writer})
	assert.Equal(t, "stdout:\n1\n2\n3\n4\n5\n1\n2\n3\n4\n5\n\nexit code: 0", answer.Text)
}

// local is another implementation of the contract, as small as one can be: it
// waits for every command and has no jobs.
type local struct{ fake }

func (*local) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, "bash", "-c", req.Command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = req.Dir, &stdout, &stderr
	if req.Merge {
		cmd.Stderr = &stdout
	}
	r := &shared.Result{Command: req.Command, Dir: req.Dir, Status: shared.StatusCompleted}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		r.Status, r.ExitCode = shared.StatusFailed, exit.ExitCode()
	} else if err != nil {
		return nil, err
	}
	r.PID = cmd.Process.Pid
	r.Stdout.Content, r.Stderr.Content = stdout.String(), stderr.String()
	return r, nil
}

func TestAnotherImplementationOfBashWorksToo(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[tool.Dialect]string{
		tool.Native:   "out\nerr\n[ended with exit code 3]",
		tool.Claude:   "Exit code 3\nout\nerr",
		tool.CheckPID: "stdout:\nout\n\nstderr:\nerr\n\nexit code: 3",
		tool.Mode:     "[command failed: exit code 3]\nout\nerr\n",
		tool.TaskID:   "Stdout: out\nStderr: err\nError: (none)\nExit Code: 3\n",
		tool.BashID:   "stdout:\nout\n\nstderr:\nerr\n\nexit code: 3",
	} {
		a := newAgentOver(t, dialect, new(local))
		assert.Contains(t, a.runs("echo out; echo err >&2; exit 3").Text, want)
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		tools := newTools(t, dialect, new(fake))
		assert.NoError(t, tools.Close())
		assert.NoError(t, tools.Close())
	}
}

// The instructions name tools that the Toolset has, also if the host has renamed them.
func TestInstructions(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`\b(\w+_bash|my_\w+|bash_(output|jobs?|kill)|[A-Z]\w+(Output|Shell))\b`)
	for _, dialect := range tool.Dialects() {
		tools, err := tool.New(dialect, nil, tool.Options{})
		require.NoError(t, err)
		renamed := make(map[string]string)
		for _, d := range tools.Definitions() {
			renamed[d.Name] = "my_" + d.Name
		}
		ours, err := tool.New(dialect, nil, tool.Options{Names: renamed})
		require.NoError(t, err)
		for _, set := range []*tool.Toolset{tools, ours} {
			text := set.Instructions()
			assert.Equal(t, 2, strings.Count(text+" ", ". "), text)
			assert.NotContains(t, text, "{")
			for _, name := range word.FindAllString(text, -1) {
				hasName := func(d tool.Definition) bool { return d.Name == name }
				assert.True(t, slices.ContainsFunc(set.Definitions(), hasName), "%s: %s", dialect, name)
			}
		}
	}
}
