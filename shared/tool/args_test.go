//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// refusal is a malformed call and what the model is told about it.
type refusal struct {
	name, arguments string
	want            string
}

// refused asserts that nothing is run and that the answer says how to call
// right.
func refused(t *testing.T, dialect tool.Dialect, name string, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		t.Run(string(dialect)+"/"+name+"/"+test.name, func(t *testing.T) {
			bash := new(fake)
			answer := newTools(t, dialect, bash).Call(t.Context(), tool.Call{Name: name, Arguments: []byte(test.arguments)})
			assert.Empty(t, bash.requests)
			assert.True(t, answer.IsError)
			assert.ErrorIs(t, answer.Err, shared.ErrInvalid)
			problem, usage, _ := strings.Cut(answer.Text, "\nUsage: ")
			assert.Equal(t, "invalid arguments: "+test.want, problem)
			assert.True(t, strings.HasPrefix(usage, name+" {"), usage)
			assert.True(t, utf8.ValidString(answer.Text))
		})
	}
}

// What is wrong in every dialect.
func TestMalformedCallsRunNothing(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		refused(t, dialect, runTool(dialect), []refusal{
			{"nothing", ``, "they are not JSON (unexpected end of JSON input): give one JSON object"},
			{"blank", " \n", "they are not JSON (unexpected end of JSON input): give one JSON object"},
			{"no JSON", `{invalid`, "they are not JSON (invalid character 'i' looking for beginning of object key string): give one JSON object"},
			{"cut off", `{"command":"ls"`, "they are not JSON (unexpected end of JSON input): give one JSON object"},
			{"trailing data", `{"command":"ls"} x`, "they are not JSON (invalid character 'x' after top-level value): give one JSON object"},
			{"two objects", `{"command":"ls"}{}`, "they are not JSON (invalid character '{' after top-level value): give one JSON object"},
			{"trailing comma", `{"command":"ls",}`, "they are not JSON (invalid character '}' looking for beginning of object key string): give one JSON object"},
			{"array", `["ls"]`, "they are no JSON object: give one"},
			{"string", `"ls"`, "they are no JSON object: give one"},
			{"null", `null`, "they are no JSON object: give one"},
			{"number", `5`, "they are no JSON object: give one"},
			{"wrong case", `{"Command":"ls"}`, `there is no argument "Command": did you mean command?`},
			{"abbreviated", `{"cmd":"x"}`, `there is no argument "cmd": did you mean command?`},
			{"mistyped", `{"comand":"ls"}`, `there is no argument "comand": did you mean command?`},
			{"twice", `{"command":"ls","command":"rm x"}`, "command is given twice"},
			{"twice, escaped", `{"command":"ls","\u0063ommand":"rm x"}`, "command is given twice"},
			{"in a string, half a surrogate pair", `"{\"command\":\"echo \\ud83d\"}"`, `they have half of a surrogate pair (\ud800 to \udfff): give both halves, or the character itself`},
			{"in a string, no object", `"[\"ls\"]"`, "they are no JSON object: give one"},
			{"white", `{"command":" \n\t"}`, "command is empty: give a bash command"},
			{"a number", `{"command":5}`, "command must be string, not number"},
			{"a bool", `{"command":true}`, "command must be string, not bool"},
			{"an array", `{"command":["ls"]}`, "command must be string, not array"},
			{"an object", `{"command":{"a":1}}`, "command must be string, not object"},
			{"NUL", `{"command":"ls \u0000"}`, "command has a NUL character, which bash cannot take: leave it out, or have printf '\\0' make it"},
			{"too long", `{"command":"` + strings.Repeat("x", shared.MaxCommandBytes+1) + `"}`, "command has 1048577 bytes, and 1048576 are allowed: write the script to a file and run that"},
			{"not UTF-8", "{\"command\":\"echo \xff\"}", "they are not UTF-8: give one JSON object in UTF-8"},
			{"half a surrogate pair", `{"command":"echo \ud83d"}`, `they have half of a surrogate pair (\ud800 to \udfff): give both halves, or the character itself`},
			{"the other half", `{"command":"echo \uDE00"}`, `they have half of a surrogate pair (\ud800 to \udfff): give both halves, or the character itself`},
			{"halves in disorder", `{"command":"echo \ude00\ud83d"}`, `they have half of a surrogate pair (\ud800 to \udfff): give both halves, or the character itself`},
		})
	}
}

func TestMalformedCallsWithoutACommand(t *testing.T) {
	t.Parallel()
	for _, dialect := range withCommand() {
		want := "command is empty: give a bash command"
		if dialect == tool.CheckPID {
			want = "one of command, check_pid, or kill_pid is required"
		}
		refused(t, dialect, runTool(dialect), []refusal{{"empty", `{"command":""}`, want}})
	}
}

func TestMalformedTimeouts(t *testing.T) {
	t.Parallel()
	for _, dialect := range []tool.Dialect{tool.CheckPID, tool.BashID} {
		refused(t, dialect, "bash", []refusal{
			{"negative", `{"command":"ls","timeout":-1}`, "timeout is out of range: give a number from 0 to 86400000"},
			{"huge", `{"command":"ls","timeout":86400001}`, "timeout is out of range: give a number from 0 to 86400000"},
			{"beyond int64", `{"command":"ls","timeout":9223372036854775808}`, "timeout is out of range: give a number from 0 to 86400000"},
			{"beyond floats", `{"command":"ls","timeout":1e999}`, "timeout is out of range: give a number from 0 to 86400000"},
			{"beyond floats, below", `{"command":"ls","timeout":-1e999}`, "timeout is out of range: give a number from 0 to 86400000"},
		})
	}
	for dialect, kind := range map[tool.Dialect]string{tool.CheckPID: "integer", tool.TaskID: "integer", tool.BashID: "integer"} {
		refused(t, dialect, "bash", []refusal{
			{"fraction", `{"command":"ls","timeout":1.5}`, "timeout must be " + kind + ", not number 1.5"},
			{"string", `{"command":"ls","timeout":"5s"}`, "timeout must be " + kind + ", not string"},
			{"fraction in a string", `{"command":"ls","timeout":"1.5"}`, "timeout must be " + kind + ", not number 1.5"},
			{"bool", `{"command":"ls","timeout":true}`, "timeout must be " + kind + ", not bool"},
			{"digits without end", `{"command":"ls","timeout":0.` + strings.Repeat("1", 1000) + `}`, "timeout must be " + kind + ", not number 0." + strings.Repeat("1", 71) + "…"},
		})
	}
	refused(t, tool.TaskID, "bash", []refusal{
		{"negative", `{"command":"ls","timeout":-1}`, "timeout is out of range: give a number from 0 to 9007199254740992"},
	})
}

func TestMalformedCallsOfEachDialect(t *testing.T) {
	t.Parallel()
	refused(t, tool.CheckPID, "bash", []refusal{
		{"nothing to do", `{}`, "one of command, check_pid, or kill_pid is required"},
		{"a timeout alone", `{"timeout":5}`, "one of command, check_pid, or kill_pid is required"},
		{"two things", `{"command":"ls","check_pid":5}`, "command, check_pid and kill_pid exclude each other: give one of them"},
		{"two pids", `{"kill_pid":5,"check_pid":5}`, "command, check_pid and kill_pid exclude each other: give one of them"},
		{"three things", `{"kill_pid":5,"command":"ls","check_pid":5}`, "command, check_pid and kill_pid exclude each other: give one of them"},
		{"timeout of a check", `{"check_pid":5,"timeout":5}`, "timeout goes with command only: leave it out"},
		{"every job", `{"kill_pid":-1}`, "kill_pid is out of range: give a number from 1 to 2147483647"},
		{"pid 0", `{"check_pid":0}`, "one of command, check_pid, or kill_pid is required"},
		{"pid a word", `{"check_pid":"five"}`, "check_pid must be integer, not string"},
	})
	refused(t, tool.Mode, "bash", []refusal{
		{"no command", `{"mode":"slow"}`, "command is missing"},
		{"command null", `{"command":null}`, "command is missing"},
		{"unknown mode", `{"command":"ls","mode":"fast"}`, `mode must be "default" | "slow" | "background"`},
	})
	for _, dialect := range []tool.Dialect{tool.TaskID, tool.BashID} {
		refused(t, dialect, "bash", []refusal{
			{"no command", `{"run_in_background":true}`, "command is missing"},
			{"flag a word", `{"command":"ls","run_in_background":"yes"}`, "run_in_background must be boolean, not string"},
			{"flag a number", `{"command":"ls","run_in_background":1}`, "run_in_background must be boolean, not number"},
		})
	}
	for dialect, id := range map[tool.Dialect]string{tool.TaskID: "task_id", tool.BashID: "bash_id"} {
		for _, name := range []string{"bash_output", "kill_bash"} {
			refused(t, dialect, name, []refusal{
				{"nothing", `{}`, id + " is missing"},
				{"null", `{"` + id + `":null}`, id + " is missing"},
				{"a bool", `{"` + id + `":true}`, id + " must be string, not bool"},
			})
		}
	}
}

func TestUnknownToolRunsNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Bash", "bash ", "run_command", strings.Repeat("x", 1000)} {
		bash := new(fake)
		answer := newTools(t, tool.BashID, bash).Call(t.Context(), tool.Call{Name: name, Arguments: []byte(`{"command":"ls"}`)})
		assert.True(t, answer.IsError)
		assert.ErrorIs(t, answer.Err, shared.ErrInvalid)
		assert.Contains(t, answer.Text, "unknown tool ")
		assert.Contains(t, answer.Text, ": the tools are bash, bash_output, kill_bash")
		assert.Less(t, len(answer.Text), 200)
		assert.Empty(t, bash.requests)
	}
}

func TestWellFormedArguments(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"command":"ls"}`:                           "ls",
		" \n{ \"command\" : \"ls\" }\r\n":            "ls",
		`{"c\u006fmmand":"ls"}`:                      "ls",
		`{"command":"ls","timeout":5}`:               "ls",
		`{"command":"ls","timeout":5.0}`:             "ls", // an integer, says JSON Schema
		`{"command":"ls","timeout":5e3}`:             "ls",
		`{"command":"ls","timeout":" 5000 "}`:        "ls",
		`{"command":"ls","description":["any"]}`:     "ls",
		`{"command":"ls","wait_for_previous":true}`:  "ls",
		`{"command":"ls","Command":"rm","cmd":"rm"}`: "ls",
		`{"command":"ls","timeout":""}`:              "ls",
		`{"command":"ls","run_in_background":""}`:    "ls",
		`"{\"command\":\"ls\"}"`:                     "ls",
		`{"command":"echo \ud83d\ude00"}`:            "echo 😀",
		`{"command":"echo \\ud83d"}`:                 `echo \ud83d`,
		`{"command":"echo \ufffd 😀 \u00e9 \\ \""}`:   "echo \ufffd 😀 é \\ \"",
		`{"command":"echo <&>\n\ttwo"}`:              "echo <&>\n\ttwo",
	} {
		bash := new(fake)
		answer := newTools(t, tool.BashID, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(arguments)})
		assert.False(t, answer.IsError, answer.Text)
		assert.Equal(t, want, bash.requests[0].(shared.ExecuteRequest).Command)
	}
}

// Models send null for what they leave out.
func TestNullIsAsGoodAsAbsent(t *testing.T) {
	t.Parallel()
	for dialect, pairs := range map[tool.Dialect]map[string]string{
		tool.CheckPID: {
			`{"command":"ls","timeout":null,"check_pid":null,"kill_pid":null}`: `{"command":"ls"}`,
			`{"command":null,"timeout":null,"check_pid":7,"kill_pid":null}`:    `{"check_pid":7}`,
			`{"command":null,"timeout":null,"check_pid":null,"kill_pid":7}`:    `{"kill_pid":7}`,
		},
		tool.Mode:   {`{"command":"ls","mode":null}`: `{"command":"ls"}`},
		tool.TaskID: {`{"command":"ls","timeout":null,"run_in_background":null}`: `{"command":"ls"}`},
		tool.BashID: {`{"command":"ls","timeout":null,"run_in_background":null}`: `{"command":"ls"}`},
	} {
		for nulls, without := range pairs {
			var requests [2][]any
			for i, arguments := range []string{nulls, without} {
				bash := new(fake)
				newTools(t, dialect, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(arguments)})
				requests[i] = bash.requests
			}
			assert.Len(t, requests[0], 1, nulls)
			assert.Equal(t, requests[1], requests[0], nulls)
		}
	}
	refused(t, tool.CheckPID, "bash", []refusal{
		{"all null", `{"command":null,"timeout":null,"check_pid":null,"kill_pid":null}`, "one of command, check_pid, or kill_pid is required"},
		{"null and a value", `{"command":"ls","timeout":null,"timeout":5}`, "timeout is given twice"},
	})
}

// What clients add to every tool is no mistake, though it is like an argument of ours.
func TestUnknownArgumentsAreIgnored(t *testing.T) {
	t.Parallel()
	for _, dialect := range tool.Dialects() {
		tools := newTools(t, dialect, always(&shared.Result{PID: 7, Status: shared.StatusCompleted, Matched: true}))
		command := "command"
		if dialect == tool.Codex {
			command = "cmd"
		}
		first := tools.Definitions()[0].Name
		answer := tools.Call(t.Context(), tool.Call{Name: first, Arguments: []byte(`{"` + command + `":"ls","wait_for_previous":false}`)})
		assert.NoError(t, answer.Err, dialect)
	}
	native := newTools(t, tool.Native, always(&shared.Result{PID: 7, Status: shared.StatusRunning}))
	id := native.Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"ls"}`)}).ID
	for _, name := range []string{"bash_job", "bash_kill", "bash_jobs"} {
		answer := native.Call(t.Context(), tool.Call{Name: name, Arguments: []byte(`{"id":"` + id + `","wait_for_previous":true}`)})
		assert.NoError(t, answer.Err, name)
	}
}

// Some models fill in every argument, and give numbers as text and text as numbers.
func TestArgumentsAreTakenAsMeant(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dialect   tool.Dialect
		name      string
		arguments string
		want      any
	}{
		{tool.CheckPID, "bash", `{"command":"","timeout":0,"check_pid":7,"kill_pid":0}`, shared.CheckRequest{PID: 7}},
		{tool.CheckPID, "bash", `{"command":"","timeout":"","check_pid":"","kill_pid":"7"}`, shared.KillRequest{PID: 7}},
		{tool.Native, "bash", `{"command":"cat","input":"0","tty":"","timeout":"","dir":""}`, shared.ExecuteRequest{Command: "cat", Input: "0"}},
	} {
		bash := new(fake)
		newTools(t, test.dialect, bash).Call(t.Context(), tool.Call{Name: test.name, Arguments: []byte(test.arguments)})
		if !assert.Len(t, bash.requests, 1, test.arguments) {
			continue
		}
		switch got := bash.requests[0].(type) {
		case shared.ExecuteRequest:
			assert.Equal(t, test.want, shared.ExecuteRequest{Command: got.Command, Input: got.Input})
		case shared.CheckRequest:
			assert.Equal(t, test.want, shared.CheckRequest{PID: got.PID})
		case shared.KillRequest:
			assert.Equal(t, test.want, shared.KillRequest{PID: got.PID})
		}
	}
	answer := newTools(t, tool.Native, new(fake)).Call(t.Context(), tool.Call{Name: "bash_job", Arguments: []byte(`{"id":12}`)})
	assert.Contains(t, answer.Text, `there is no job "12"`)
}

// Whatever the arguments, a call is either refused with nothing run, or runs
// exactly the command that encoding/json reads from them.
func fuzzArguments(f *testing.F, dialect tool.Dialect, names ...string) {
	for _, seed := range []string{
		`{"command":"ls"}`, `{"command":"ls","timeout":5.0,"run_in_background":true}`, `{"command":"ls","mode":"slow"}`, `{"check_pid":7}`, `{"kill_pid":7}`,
		`{"task_id":"task_0"}`, `{"bash_id":"bash_0"}`, `{"command":"\ud83d\ude00\ud83d"}`, `{"timeout":null}`, `[]`, `{"command":"a","command":"b"}`,
	} {
		f.Add([]byte(seed), uint8(0))
	}
	f.Fuzz(func(t *testing.T, raw []byte, which uint8) {
		bash := new(fake)
		tools, err := tool.New(dialect, bash, tool.Options{})
		assert.NoError(t, err)
		answer := tools.Call(context.Background(), tool.Call{Name: names[int(which)%len(names)], Arguments: raw})
		assert.NotEmpty(t, answer.Text)
		assert.True(t, utf8.ValidString(answer.Text))
		if assert.LessOrEqual(t, len(bash.requests), 1); len(bash.requests) == 0 {
			assert.True(t, answer.IsError)
			return
		}
		var object map[string]any
		var text string
		if json.Unmarshal(raw, &text) == nil {
			raw = []byte(text)
		}
		assert.NoError(t, json.Unmarshal(raw, &object))
		if req, ok := bash.requests[0].(shared.ExecuteRequest); ok {
			assert.Equal(t, object["command"], req.Command)
			assert.NotEmpty(t, strings.TrimSpace(req.Command))
			assert.GreaterOrEqual(t, req.Timeout, time.Duration(0))
		}
	})
}

func FuzzCheckPIDArguments(f *testing.F) { fuzzArguments(f, tool.CheckPID, "bash") }

func FuzzModeArguments(f *testing.F) { fuzzArguments(f, tool.Mode, "bash") }

func FuzzTaskIDArguments(f *testing.F) {
	fuzzArguments(f, tool.TaskID, "bash", "bash_output", "kill_bash")
}

func FuzzBashIDArguments(f *testing.F) {
	fuzzArguments(f, tool.BashID, "bash", "bash_output", "kill_bash")
}

func FuzzNativeArguments(f *testing.F) {
	fuzzArguments(f, tool.Native, "bash", "bash_job", "bash_kill")
}

func FuzzClaudeArguments(f *testing.F) {
	fuzzArguments(f, tool.Claude, "Bash", "TaskOutput", "TaskStop", "BashOutput", "KillShell")
}
