//go:build unix

package tool_test

import (
	"context"
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

func TestOptionsReachTheModelAndTheRequest(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		bash := new(fake)
		name := runTool(dialect)
		tools, err := tool.New(dialect, bash, tool.Options{
			Env: []string{"A=B"}, Timeout: 7 * time.Second, Limits: shared.Limits{MaxBytes: 99},
			Names: map[string]string{name: "shell"}, Descriptions: map[string]string{name: "Runs it."},
		})
		require.NoError(t, err)
		definition := tools.Definitions()[0]
		assert.Equal(t, "shell", definition.Name)
		assert.Equal(t, "Runs it.", definition.Description)
		answer := tools.Call(t.Context(), tool.Call{Name: "shell", Arguments: []byte(`{"command":"ls"}`)})
		assert.False(t, answer.IsError, answer.Text)
		req := bash.requests[0].(shared.ExecuteRequest)
		assert.Equal(t, []string{"A=B"}, req.Env)
		assert.Equal(t, 7*time.Second, req.Timeout)
		assert.Equal(t, shared.Limits{MaxBytes: 99}, req.Limits)
		answer = tools.Call(t.Context(), tool.Call{Name: name, Arguments: []byte(`{"command":"ls"}`)})
		assert.Contains(t, answer.Text, "the tools are shell")
		require.NoError(t, tools.Close())
	}
}

// A tool under another name has that name in every text, and no text has a placeholder.
func TestNamesAreOnesOfTheHost(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		names := make(map[string]string)
		for name := range define(t, dialect) {
			names[name] = "my-" + name
		}
		bash := always(&shared.Result{PID: 7, Status: shared.StatusRunning, ExitCode: -1})
		tools, err := tool.New(dialect, bash, tool.Options{Names: names, Timeout: 123 * time.Second})
		require.NoError(t, err)
		text := tools.Call(t.Context(), tool.Call{Name: "my-" + runTool(dialect), Arguments: []byte(`{"command":"ls"}`)}).Text
		for _, d := range tools.Definitions() {
			text += d.Description + string(d.InputSchema)
		}
		assert.NotRegexp(t, `[^-](bash_output|kill_bash|bash_job|bash_kill|TaskOutput|TaskStop)\b`, text)
		assert.NotRegexp(t, `\{\w+\}`, text)
		assert.Contains(t, text, "123", dialect)
		require.NoError(t, tools.Close())
	}
}

func TestNewRefusesOptionsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]tool.Options{
		`the dialect has no tool "Bash": it has ["bash" "bash_job" "bash_input" "bash_kill" "bash_jobs"]`: {Names: map[string]string{"Bash": "x"}},
		`the dialect has no tool "run"`: {Descriptions: map[string]string{"run": "x"}},
		"must not be negative":          {MaxWait: -1},
		"(-1ns, at most MaxTimeout":     {Timeout: -1},
		"at most MaxTimeout, -1ns":      {MaxTimeout: -1},
		"at most MaxTimeout, 1h0m0s":    {Timeout: 2 * time.Hour},
		"cannot use the limits {MaxLines:0 MaxBytes:-1 Ends:0 Notable:0}: MaxBytes and Ends must be from 0 to 1048576, Notable to 100": {Limits: shared.Limits{MaxBytes: -1}},
		"cannot use the limits {MaxLines:0 MaxBytes:0 Ends:2000000 Notable:0}":                                                         {Limits: shared.Limits{Ends: 2000000}},
		"cannot use Env: every entry must be KEY=VALUE, without a NUL byte":                                                            {Env: []string{"A=", "LANG"}},
		"cannot use Env: every entry must be KEY=VALUE":                                                                                {Env: []string{"=x"}},
		`cannot name a tool "run it": give each its own name of 1 to 64 letters, digits, _ and -`:                                      {Names: map[string]string{"bash": "run it"}},
		`cannot name a tool "bash_job"`:                                                                                                {Names: map[string]string{"bash": "bash_job"}},
	} {
		_, err := tool.New(tool.Native, nil, opts)
		assert.ErrorContains(t, err, want)
	}
	swapped := map[string]string{"bash_job": "bash_kill", "bash_kill": "bash_job"}
	_, err := tool.New(tool.Native, nil, tool.Options{Names: swapped})
	assert.NoError(t, err)
}

// A description promises nothing that a host may not have.
func TestDescriptionsPromiseNoOtherTools(t *testing.T) {
	t.Parallel()
	other := regexp.MustCompile("`?\\b(rg|ripgrep|grep|glob|Glob|Grep|ls)\\b")
	for _, dialect := range withCommand() {
		for name, d := range define(t, dialect) {
			assert.NotRegexp(t, other, d.Description, "%s %s", dialect, name)
		}
	}
}

// Whatever the dialect, a call ends at MaxWait and its command goes on; a dialect that
// kills does so at the command's timeout.
func TestMaxWaitLetsTheCommandGoOn(t *testing.T) {
	t.Parallel()
	words := map[tool.Dialect]string{
		tool.Native:   "is running, for 0s: bash_job waits",
		tool.Claude:   "Command running in background with ID: ",
		tool.CheckPID: "This call waits no longer; the command goes on.",
		tool.Mode:     "[This call waits no longer; the command goes on until its timeout of 3s.]\n<pid>",
		tool.TaskID:   "moved to background execution. This call waits no longer; the command goes on until its timeout of 3s.",
		tool.BashID:   "[This call waits no longer; the command goes on until its timeout of 3s.]\n\nbash_id: ",
	}
	for _, dialect := range withCommand() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			a := newAgentWith(t, dialect, plugin, tool.Options{MaxWait: 300 * time.Millisecond, Timeout: 3 * time.Second})
			open := a.door("more")
			answer := a.runs("echo first; read < more; echo second; " + plugintest.Forever)
			assert.False(t, answer.IsError, answer.Text)
			assert.Contains(t, answer.Text, words[dialect])
			pid := answer.Result.PID
			assert.True(t, plugintest.Alive(pid))
			open()
			check := shared.CheckRequest{PID: pid, Wait: plugintest.Hang, All: true, WaitFor: "second"}
			if dialect == tool.Mode || dialect == tool.TaskID || dialect == tool.BashID {
				check.WaitFor = ""
			}
			r, err := plugin.Check(t.Context(), check)
			require.NoError(t, err)
			assert.Equal(t, "first\nsecond\n", r.Stdout.Content)
			if check.WaitFor == "" {
				assert.Equal(t, shared.CauseTimeout, r.Cause)
			}
			_, _ = plugin.Kill(context.Background(), shared.KillRequest{PID: pid})
		})
	}
}

func TestMaxWaitBoundsAWaitToo(t *testing.T) {
	t.Parallel()
	a := newAgentWith(t, tool.Native, plugin, tool.Options{MaxWait: 300 * time.Millisecond})
	id := a.run(args{"command": plugintest.Forever, "background": true}).ID
	assert.Contains(t, a.use("bash_job", args{"id": id, "wait": 1000}).Text, "is running")
	assert.False(t, a.use("bash_kill", args{"id": id}).IsError)
}

// A client that gives up waiting loses nothing: the command is a job that has an id.
func TestErrLetRunMakesAJob(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	ctx, giveUp := context.WithCancelCause(t.Context())
	live := writerFunc(func(p []byte) (int, error) { giveUp(tool.ErrLetRun); return len(p), nil })
	open := a.door("more")
	dropped := a.Call(ctx, tool.Call{Name: "bash", Arguments: []byte(`{"command":"echo first; read < more; echo second"}`), Live: live})
	assert.False(t, dropped.IsError, dropped.Text)
	id := oneOf(t, `(job_\w+) is running`, a.use("bash_jobs", args{}).Text)
	open()
	ctx, giveUp = context.WithCancelCause(t.Context())
	giveUp(tool.ErrLetRun)
	dropped = a.Call(ctx, tool.Call{Name: "bash_job", Arguments: []byte(`{"id":"` + id + `","wait":60}`)})
	assert.False(t, dropped.IsError, dropped.Text)
	assert.Equal(t, "first\nsecond\n[job "+id+" ended with exit code 0]", a.use("bash_job", args{"id": id, "wait": 60}).Text, "neither answer has arrived")
}

// The log of a command that went on in the mode dialect has its ending.
func TestModeMaxWaitEnding(t *testing.T) {
	t.Parallel()
	a := newAgentWith(t, tool.Mode, plugin, tool.Options{MaxWait: 100 * time.Millisecond, Timeout: time.Second})
	answer := a.runs("echo begun; " + plugintest.Forever)
	awaitText(t, answer.Result.Stdout.Path, "begun\n\n\n[background process killed: it ran for 1s]\n")
}

func TestRender(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		tools, err := tool.New(dialect, nil, tool.Options{})
		require.NoError(t, err)
		definitions := tools.Definitions()
		for _, format := range tool.Formats() {
			text, err := tools.Render(format)
			require.NoError(t, err)
			var list []map[string]any
			require.NoError(t, json.Unmarshal(text, &list))
			assert.NotContains(t, string(text), `\u003c`)
			if format == tool.Gemini {
				require.Len(t, list, 1)
				var functions []map[string]any
				for _, f := range list[0]["functionDeclarations"].([]any) {
					functions = append(functions, f.(map[string]any))
				}
				list = functions
				assert.NotContains(t, string(text), "additionalProperties")
			}
			require.Len(t, list, len(definitions))
			for i, d := range definitions {
				var schema map[string]any
				require.NoError(t, json.Unmarshal(d.InputSchema, &schema))
				got := list[i]
				switch format {
				case tool.OpenAI:
					assert.Equal(t, "function", got["type"])
					got = got["function"].(map[string]any)
					assert.Equal(t, schema, got["parameters"])
				case tool.Anthropic:
					assert.Equal(t, schema, got["input_schema"])
				case tool.Gemini:
					parameters, _ := got["parameters"].(map[string]any)
					properties, _ := schema["properties"].(map[string]any)
					for _, property := range properties {
						if p := property.(map[string]any); p["anyOf"] != nil {
							p["type"] = "integer" // it takes no choice beside a description
							delete(p, "anyOf")
						}
					}
					assert.Equal(t, schema["properties"], parameters["properties"])
				}
				assert.Equal(t, d.Name, got["name"])
				assert.Equal(t, d.Description, got["description"])
			}
		}
		_, err = tools.Render("xml")
		assert.ErrorContains(t, err, `unknown format "xml": use one of ["anthropic" "openai" "gemini"]`)
	}
}

// What an answer marks in every dialect that shows output.
func TestUnfinishedLinesAndWhatIsNotTextAreMarked(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		for want, o := range map[string]shared.Output{
			"par\n[the line above is not finished]\n": {Content: "par", TotalBytes: 3, TotalLines: 1, Partial: true},
			"[70 bytes that are not text]\n":          {Dropped: 70},
		} {
			r := shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: o, Leftover: []shared.Process{{PID: 8, Command: "sleep 9"}}}
			answer := newAgentOver(t, dialect, always(&r)).runs("x")
			assert.Contains(t, answer.Text+"\n", strings.TrimSuffix(want, "\n"), dialect)
			r.Leftover = nil // it is over: the line is as finished as it will be
			answer = newAgentOver(t, dialect, always(&r)).runs("x")
			assert.NotContains(t, answer.Text, "not finished", dialect)
		}
	}
}

func TestKillSaysWhatElseItEnded(t *testing.T) {
	t.Parallel()
	for dialect, kill := range map[tool.Dialect]struct{ name, id string }{
		tool.Native: {"bash_kill", "id"}, tool.Claude: {"KillShell", "shell_id"}, tool.TaskID: {"kill_bash", "task_id"}, tool.BashID: {"kill_bash", "bash_id"}, tool.CheckPID: {"bash", "kill_pid"},
	} {
		a := newAgent(t, dialect)
		started := a.runs(leaves)
		arguments := args{kill.id: started.ID}
		if started.ID == "" {
			arguments = args{kill.id: started.Result.PID}
		}
		child := started.Result.Leftover[0]
		assert.Contains(t, a.use(kill.name, arguments).Text, fmt.Sprintf("It also ended %d (%s)", child.PID, child.Command), dialect)
	}
}
