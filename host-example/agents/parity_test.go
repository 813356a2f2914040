//go:build linux

package agents

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parity is a script for an agent's own tools and for those of ours that have the same names.
type parity struct {
	agent   string
	dialect string

	// calls are the script. ID and 0 stand for the last id that an answer has named.
	calls []call

	id *regexp.Regexp // its group matches an id in an answer

	// extra are arguments that our schema leaves out.
	extra []string

	// other has the calls whose answers differ, and why.
	other map[int]string
}

// codexParity leaves arguments out that are accepted: what they ask for is not a model's to decide
// here, and the shell is always bash.
func codexParity() parity {
	return parity{
		agent:   "Codex",
		dialect: "codex",
		id:      regexp.MustCompile(`session ID (\d+)`),
		extra:   []string{"justification", "login", "prefix_rule", "sandbox_permissions", "shell"},
		calls: []call{
			{"exec_command", object{"cmd": "true"}},
			{"exec_command", object{"cmd": "echo out; exit 3"}},
			{"exec_command", object{"cmd": "pwd", "login": false, "shell": "/bin/bash", "workdir": "/usr"}},
			{"exec_command", object{"cmd": "echo begun; sleep 2; echo ended; exit 4", "yield_time_ms": 500}},
			{"write_stdin", object{"session_id": 0, "chars": "", "yield_time_ms": 10000}},
			{"exec_command", object{"cmd": asks + "; exit 6", "yield_time_ms": 500, "tty": true}},
			{"write_stdin", object{"session_id": 0, "chars": "eve\r", "yield_time_ms": 10000}},
			{"exec_command", object{"cmd": "seq 1 20000", "max_output_tokens": 50}},
			{"exec_command", object{"cmd": "echo begun; exec sleep 100", "yield_time_ms": 500}},
			{"write_stdin", object{"session_id": 0, "chars": "\u0003", "yield_time_ms": 10000}},
		},
		other: map[int]string{
			5: "ours says in a line after the shape what the command waits for",
			6: "ours is the text that the terminal shows, without its carriage returns",
			7: "ours cuts at line ends, and names the log in a line after the shape",
		},
	}
}

func claudeParity() parity {
	background := func(command string) call {
		return call{"Bash", object{"command": command, "description": "a test", "run_in_background": true}}
	}
	return parity{
		agent:   "Claude Code",
		dialect: "claude",
		id:      regexp.MustCompile(`background with ID: (\w+)`),
		extra:   []string{"dangerouslyDisableSandbox", "shell_id"},
		calls: []call{
			{"Bash", object{"command": "true", "description": "a test"}},
			{"Bash", object{"command": "echo out; echo err >&2; exit 3", "description": "a test"}},
			{"Bash", object{"command": "cd /usr", "description": "a test"}},
			background("echo begun; sleep 1; echo ended; exit 4"),
			{"TaskOutput", object{"task_id": "ID", "block": true, "timeout": 10000}},
			background("echo begun; exec sleep 100"),
			{"TaskOutput", object{"task_id": "ID", "block": true, "timeout": 1000}},
			{"TaskOutput", object{"task_id": "ID", "block": false, "timeout": 1000}},
			{"TaskStop", object{"task_id": "ID"}},
			{"TaskStop", object{"task_id": "nope"}},
		},
		other: map[int]string{
			2: "in ours each command begins in the project's folder",
			3: "ours cannot notify the model, and says what waits",
			5: "as before",
			9: "ours lists the tasks that there are",
		},
	}
}

// A model that is trained on an agent's own tools sees no other answers from ours.
func TestParity(t *testing.T) {
	t.Parallel()
	if os.Getenv(folderEnv) == "" {
		t.Skip("make test-agents installs the agents and runs this")
	}
	for _, p := range []parity{codexParity(), claudeParity()} {
		t.Run(p.agent, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(agentList(), func(a agent) bool { return a.name == p.agent })
			p.compare(t, agentList()[i])
		})
	}
}

func (p parity) compare(t *testing.T, a agent) {
	t.Helper()
	ownAnswers, ownTools := p.talk(t, a, "")
	answers, tools := p.talk(t, a, a.prefix)
	require.Len(t, ownAnswers, len(p.calls))
	require.Len(t, answers, len(p.calls))
	for i, answer := range answers {
		own := p.normal(ownAnswers[i])
		ours := p.normal(answer)
		if p.other[i] != "" {
			assert.NotEqual(t, own, ours, "call %d: it is not other", i)
			continue
		}
		assert.Equal(t, own, ours, "call %d", i)
	}
	for name := range tools {
		if !strings.HasPrefix(name, a.prefix) {
			continue
		}
		name = strings.TrimPrefix(name, a.prefix)
		own := types(t, ownTools[name])
		for _, extra := range p.extra {
			delete(own, extra)
		}
		assert.Equal(t, own, types(t, tools[a.prefix+name]), name)
	}
}

// talk makes the calls with the tools of a prefix.
func (p parity) talk(t *testing.T, a agent, prefix string) ([]string, map[string]json.RawMessage) {
	t.Helper()
	id := ""
	m := newModel(t, prefix+p.calls[0].name, func(c conversation) *call {
		n := len(c.answers)
		if n > 0 {
			if found := p.id.FindStringSubmatch(c.answers[n-1]); found != nil {
				id = found[1]
			}
		}
		if n >= len(p.calls) {
			return nil
		}
		arguments := maps.Clone(p.calls[n].arguments)
		for name, value := range arguments {
			switch value {
			case "ID":
				arguments[name] = id
			case 0:
				arguments[name] = json.Number(id)
			}
		}
		return &call{prefix + p.calls[n].name, arguments}
	})
	s := newSession(t, a, m, 0, "-dialect", p.dialect)
	err := s.Run()
	answers, tools := m.seen()
	if len(answers) < len(p.calls) {
		t.Logf("%v: %s", err, s.output())
	}
	return answers, tools
}

var (
	// wrapped is what Codex puts before an answer over MCP.
	wrapped = regexp.MustCompile(`^Wall time: \S+ seconds\nOutput:\n`)

	varying = regexp.MustCompile(`(Chunk ID: |Wall time: |session ID |"task_id":"|<task_id>|stopped task: )[\w.]+`)
)

// normal is an answer without what differs from run to run. Of a JSON object the order does not
// matter.
func (p parity) normal(answer string) string {
	answer = varying.ReplaceAllString(wrapped.ReplaceAllString(answer, ""), "${1}X")
	var object map[string]any
	if json.Unmarshal([]byte(answer), &object) == nil {
		return argumentsOf(&call{arguments: object})
	}
	return answer
}

// types maps the arguments in a definition to their types. A number may be a string in ours.
func types(t *testing.T, definition json.RawMessage) map[string]string {
	t.Helper()
	type schema struct {
		Properties map[string]struct {
			Type  string
			AnyOf []any
		}
	}
	var d struct {
		Parameters  schema
		InputSchema schema `json:"input_schema"`
	}
	require.NoError(t, json.Unmarshal(definition, &d))
	found := make(map[string]string)
	properties := d.Parameters.Properties
	if properties == nil {
		properties = d.InputSchema.Properties
	}
	for name, property := range properties {
		found[name] = property.Type
		if property.AnyOf != nil {
			found[name] = "number"
		}
	}
	return found
}
