//go:build linux

package agents

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// codexSteps are calls of Codex' own tools. A session_id of 0 stands for the last one.
func codexSteps() []call {
	return []call{
		{"exec_command", object{"cmd": "true"}},
		{"exec_command", object{"cmd": "echo out; echo err >&2; exit 3"}},
		{"exec_command", object{"cmd": "pwd", "login": false, "shell": "/bin/bash", "workdir": "/usr"}},
		{"exec_command", object{"cmd": "echo begun; sleep 2; echo ended; exit 4", "yield_time_ms": 500}},
		{"write_stdin", object{"session_id": 0, "chars": "", "yield_time_ms": 10000}},
		{"exec_command", object{"cmd": "read -rp 'name? ' x; sleep 0.2; echo hi $x; exit 6", "yield_time_ms": 500, "tty": true}},
		{"write_stdin", object{"session_id": 0, "chars": "eve\r", "yield_time_ms": 10000}},
		{"exec_command", object{"cmd": "seq 1 20000", "max_output_tokens": 50}},
		{"exec_command", object{"cmd": "echo begun; exec sleep 100", "yield_time_ms": 500}},
		{"write_stdin", object{"session_id": 0, "chars": "\u0003", "yield_time_ms": 10000}},
	}
}

// codexExtra are the arguments that our schema leaves out. They are accepted: what they ask for is
// not a model's to decide here, and the shell is always bash.
var codexExtra = []string{"justification", "login", "prefix_rule", "sandbox_permissions", "shell"}

// codexOther has the steps whose answers differ, and why.
var codexOther = map[int]string{
	5: "ours says in a line after the shape what the command waits for",
	6: "ours is the text that the terminal shows, without its carriage returns",
	7: "ours cuts at line ends, and names the log in a line after the shape",
}

// A model that is trained on Codex' own tools sees no other answers from ours.
func TestParityWithCodex(t *testing.T) {
	t.Parallel()
	if os.Getenv(folderEnv) == "" {
		t.Skip("make test-agents installs the agents and runs this")
	}
	i := slices.IndexFunc(agentList(), func(a agent) bool { return a.name == "Codex" })
	a := agentList()[i]
	ownAnswers, ownTools := talks(t, a, "")
	answers, tools := talks(t, a, a.prefix)
	require.Len(t, ownAnswers, len(codexSteps()))
	require.Len(t, answers, len(codexSteps()))
	for i, answer := range answers {
		if codexOther[i] != "" {
			assert.NotEqual(t, normal(ownAnswers[i]), normal(answer), "step %d: the list is too long", i)
			continue
		}
		assert.Equal(t, normal(ownAnswers[i]), normal(answer), "step %d", i)
	}
	for _, name := range a.own {
		own := types(t, ownTools[name])
		for _, extra := range codexExtra {
			delete(own, extra)
		}
		assert.Equal(t, own, types(t, tools[a.prefix+name]), name)
	}
}

// session matches the id of a session in an answer.
var sessionID = regexp.MustCompile(`session ID (\d+)`)

// talks makes the calls with the tools of a prefix.
func talks(t *testing.T, a agent, prefix string) ([]string, map[string]json.RawMessage) {
	t.Helper()
	steps := codexSteps()
	id := 0
	m := newModel(t, prefix+"exec_command", func(c conversation) *call {
		n := len(c.answers)
		if n > 0 {
			if found := sessionID.FindStringSubmatch(c.answers[n-1]); found != nil {
				id, _ = strconv.Atoi(found[1])
			}
		}
		if n >= len(steps) {
			return nil
		}
		arguments := maps.Clone(steps[n].arguments)
		if arguments["session_id"] != nil {
			arguments["session_id"] = id
		}
		return &call{prefix + steps[n].name, arguments}
	})
	s := newSession(t, a, m, 0, "-dialect", "codex")
	err := s.Run()
	answers, tools := m.seen()
	if len(answers) < len(steps) {
		t.Logf("%v: %s", err, s.output())
	}
	return answers, tools
}

var (
	// wrapped is what Codex puts before an answer over MCP.
	wrapped = regexp.MustCompile(`^Wall time: \S+ seconds\nOutput:\n`)

	varying = regexp.MustCompile(`(Chunk ID: |Wall time: |session ID )[\w.]+`)
)

// normal is an answer without what differs from run to run.
func normal(answer string) string {
	return varying.ReplaceAllString(wrapped.ReplaceAllString(answer, ""), "${1}X")
}

// types maps the arguments in a definition to their types. A number may be a string in ours.
func types(t *testing.T, definition json.RawMessage) map[string]string {
	t.Helper()
	var d struct {
		Parameters struct {
			Properties map[string]struct {
				Type  string
				AnyOf []any
			}
		}
	}
	require.NoError(t, json.Unmarshal(definition, &d))
	found := make(map[string]string)
	for name, property := range d.Parameters.Properties {
		found[name] = property.Type
		if property.AnyOf != nil {
			found[name] = "number"
		}
	}
	return found
}
