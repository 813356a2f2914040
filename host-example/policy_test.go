//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/policy"
)

func TestRunKeepsToItsRules(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "settings.json")
	text := `{"permissions": {"allow": ["Bash(touch hit:*)", "Bash(echo *)", "Read(./.env)"], "deny": ["Bash(rm:*)"]},
		"rules": [{"command": "mkdir *", "decision": "deny", "reason": "use the folders that are there"}]}`
	require.NoError(t, os.WriteFile(rules, []byte(text), 0o600))
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-deny", "git push", "--", "ls"}, 0, ""},
		{[]string{"-deny", "git push", "--", "git push --force"}, 125, "a rule denies `git push --force`"},
		{[]string{"-allow", "git", "-deny", "git push", "--", "git push"}, 125, "a rule denies `git push`"},
		{[]string{"-allow", "touch", "--", "touch hit; rm hit"}, 125, "a person would have to allow `rm hit`"},
		{[]string{"-allow", "touch", "-env", "PAGER=x", "--", "touch hit"}, 0, ""},
		{[]string{"-allow", "*", "--", "touch hit; rm hit"}, 0, ""},
		{[]string{"-allow", "*", "-ask", "rm", "--", "rm hit"}, 125, "a person would have to allow `rm hit`"},
		{[]string{"-rules", rules, "--", "touch hit; echo a b"}, 0, ""},
		{[]string{"-rules", rules, "--", "touch other"}, 125, "a person would have to allow `touch other`"},
		{[]string{"-rules", rules, "--", "rm -rf hit"}, 125, "a rule denies `rm -rf hit`: Bash(rm:*)"},
		{[]string{"-rules", rules, "--", "mkdir hit"}, 125, "`mkdir hit`: use the folders that are there"},
		{[]string{"-rules", "/no/such/file", "--", "ls"}, 2, "/no/such/file"},
		{[]string{"-allow", " ", "--", "ls"}, 2, "give the words"},
		{[]string{"-allow", "ls [", "--", "ls"}, 125, "-allow, -ask, -deny and -rules: "},
	} {
		r := hostExample(t, append([]string{"run"}, c.args...)...)
		assert.Equal(t, c.code, r.code, "%q: %s", c.args, r.stderr)
		assert.Contains(t, r.stderr, c.stderr, "%q", c.args)
	}
	r := hostExample(t, "run", "-deny", "ls", "-json", "ls")
	assert.Contains(t, r.stdout, `"code": "DENIED"`)
}

func TestTheAudit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	hostExample(t, "run", "-audit", file, "-deny", "rm", "--", "ls / | wc -l; exit 3")
	hostExample(t, "run", "-audit", file, "-deny", "rm", "--", "rm $x")
	hostExample(t, "run", "-audit", file, "--", "echo $HOME")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var lines []auditLine
	for line := range strings.Lines(string(text)) {
		var l auditLine
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		assert.NotEmpty(t, l.Session)
		assert.False(t, l.Time.IsZero())
		lines = append(lines, l)
	}
	require.Len(t, lines, 5)
	assert.Equal(t, []auditPart{
		{"ls /", policy.Allow, "ls *"}, {"wc -l", policy.Allow, "wc *"}, {"exit 3", policy.Allow, "exit *"},
	}, lines[0].Parts)
	assert.Equal(t, []any{policy.Allow, "rule", shared.Status(""), ""}, []any{lines[0].Decision, lines[0].By, lines[0].Outcome, lines[0].Error})
	assert.Equal(t, []any{shared.StatusFailed, 3, lines[0].Session}, []any{lines[1].Outcome, *lines[1].ExitCode, lines[1].Session})
	assert.Equal(t, []any{policy.Deny, "rule", "rm $x"}, []any{lines[2].Decision, lines[2].By, lines[2].Command})
	assert.Contains(t, lines[2].Error, "a rule denies `rm`: `$x` can be anything")
	assert.Equal(t, []any{policy.Allow, "default", shared.StatusCompleted}, []any{lines[4].Decision, lines[4].By, lines[4].Outcome})
}

// A client that can ask its person is asked by elicitation; the model of another learns what to do.
func TestMCPAsks(t *testing.T) {
	t.Parallel()
	hit := filepath.Join(t.TempDir(), "hit")
	asked := make(chan string, 10)
	answers := make(chan string, 10)
	s := connect(t, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- req.Params.Message
			answer := <-answers
			if answer == "" {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"run": answer}}, nil
		},
	}, "-deny", "rm")
	assert.Contains(t, textOf(t, call(t, s, "ls / | head -1")), "exit code 0")
	for _, no := range []string{"", answerNo} {
		answers <- no
		r := call(t, s, "touch "+hit)
		assert.True(t, r.IsError)
		require.Contains(t, textOf(t, r), "a person said no to `touch "+hit+"`")
		require.Contains(t, <-asked, "touch "+hit+"\n")
		assert.NoFileExists(t, hit)
	}
	answers <- answerAlways
	for range 2 {
		assert.Contains(t, textOf(t, call(t, s, "touch "+hit)), "exit code 0")
	}
	assert.FileExists(t, hit)
	assert.Len(t, asked, 1)

	mute := connect(t, nil, "-deny", "rm")
	r := call(t, mute, "touch "+hit)
	assert.True(t, r.IsError)
	assert.Contains(t, textOf(t, r), "this client cannot ask. A person can allow it for the next session, by the flag -allow")
}

func TestReplAsksNobodyBehindAPipe(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "repl", "-allow", "touch")
	cmd.Stdin = strings.NewReader("touch hit\nls\nrm hit\ny\n")
	r := finish(t, cmd)
	assert.Equal(t, "hit\n", r.stdout)
	assert.Contains(t, r.stderr, "a person would have to allow `rm hit`")
	assert.FileExists(t, filepath.Join(cmd.Dir, "hit"))
}
