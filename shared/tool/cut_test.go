//go:build unix

package tool_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// jobTools has the tools of a dialect that read and end a job, and the name of the id.
var jobTools = map[tool.Dialect]struct{ start, id, output, killID, kill string }{
	tool.Native: {"background", "id", "bash_job", "id", "bash_kill"},
	tool.Claude: {"run_in_background", "bash_id", "BashOutput", "shell_id", "KillShell"},
	tool.BashID: {"run_in_background", "bash_id", "bash_output", "bash_id", "kill_bash"},
}

// A kill shows the end of much output: it says so, and names the log, also when it is asked again.
func TestKillSaysWhatItCuts(t *testing.T) {
	t.Parallel()
	for dialect, names := range jobTools {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, dialect)
			open := a.door("written")
			id := a.run(args{"command": "seq 1 40000; read < written; " + plugintest.Forever, names.start: true}).ID
			open()
			label := map[bool]string{true: "output", false: "stdout"}[dialect == tool.Native]
			text := a.use(names.kill, args{names.killID: id}).Text
			assert.Contains(t, text, "\n40000")
			assert.Regexp(t, `(?m)^\[`+label+`: Showing last \d+ of 40000 lines\. Full output: /\S+\]$`, text[:400], "it stands first")

			again := `(?m)^\[` + label + `: 40000 lines, not shown again\. Full output: /\S+\]$`
			assert.Regexp(t, again, a.use(names.output, args{names.id: id}).Text)
			assert.Regexp(t, again, a.use(names.kill, args{names.killID: id}).Text)
		})
	}
}

func TestNativeKilledJobIsDescribedAsShown(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	id := a.run(args{"command": "echo one; " + plugintest.Forever, "background": true}).ID
	a.collect("bash_job", args{"id": id}, "", "one")
	assert.Equal(t, "[job "+id+" terminated; no new output]", a.use("bash_kill", args{"id": id}).Text)
	want := `^\[job ` + id + ` killed; no new output\]\n\[output: 1 line, not shown again\. (Full output: /\S+)\]$`
	text := a.use("bash_job", args{"id": id, "all": true}).Text
	assert.Regexp(t, want, text)
	assert.FileExists(t, oneOf(t, `Full output: (/\S+)\]`, text))
	assert.Regexp(t, want, a.use("bash_job", args{"id": id, "wait_for": "one"}).Text)
}

// limitEnds are limits that keep both ends of longer output.
var limitEnds = shared.Limits{MaxLines: -1, MaxBytes: 1000, Ends: 20}

// Where both ends are kept, both are shown, and the numbers are of what is shown.
func TestBothEndsAreShown(t *testing.T) {
	t.Parallel()
	const (
		lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n[the middle is left out]\n997\n998\n999\n1000\n"
		cut   = "[Command ended with exit code 0]\n[stdout: Showing %[2]s. Full output: <log>]\n"
		parts = "xxxxxxxxxxxxxxxxxxxx…\n[the middle is left out]\n…xxxxxxxxxxxxxxxxxxxx"
	)
	for dialect, shape := range map[tool.Dialect]string{
		tool.Native:   "[ended with exit code 0]\n[output: Showing %[2]s. Full output: <log>]\n%[1]s",
		tool.Claude:   cut + "%[1]s",
		tool.CheckPID: cut + "stdout:\n%[1]s\n\nexit code: 0",
		tool.BashID:   cut + "stdout:\n%[1]s\n\nexit code: 0",
		tool.TaskID: cut + "Command: <command>\nDirectory: <dir>\nStdout: %[1]s\nStderr: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)\n" +
			"Background PIDs: (none)\nProcess Group PGID: <pid>",
	} {
		a := newAgentWith(t, dialect, plugin, tool.Options{Limits: limitEnds})
		for command, want := range map[string]string{
			"seq 1000":                 fmt.Sprintf(shape, strings.TrimSuffix(lines, "\n"), "first 9 and last 4 lines; 1000 lines in all"),
			"printf 'x%.0s' {1..5000}": fmt.Sprintf(shape, parts, "first 20 and last 20 bytes; 5000 bytes in all"),
		} {
			answer := a.runs(command)
			r := answer.Result
			own := strings.NewReplacer("<command>", command, "<dir>", a.dir, "<pid>", strconv.Itoa(r.PID), "<log>", r.Stdout.Path)
			assert.Equal(t, own.Replace(want), answer.Text, dialect)
		}
	}
	a := newAgentWith(t, tool.Mode, plugin, tool.Options{Limits: limitEnds})
	answer := a.runs("seq 1000")
	assert.Equal(t, "[output truncated in middle: got 3893 bytes, showing 35; all of it: "+answer.Result.Stdout.Path+"]\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"+
		"[snip: 3858 bytes, 987 lines]\n997\n998\n999\n1000\n", answer.Text)
}

// The new output of a job has two ends of its own: the beginning of all output is not shown
// again.
func TestBothEndsOfNewOutput(t *testing.T) {
	t.Parallel()
	for dialect, names := range jobTools {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			a := newAgentWith(t, dialect, plugin, tool.Options{Limits: limitEnds})
			open := a.door("more")
			r := a.run(args{"command": "echo start; read < more; seq 1001 2000; exec " + plugintest.Forever, names.start: true})
			id := r.ID
			text := a.collect(names.output, args{names.id: id}, "", "start")
			assert.NotContains(t, text, "left out")
			open()
			awaitLine(a, r.Result.PID, "2000")
			text = a.use(names.kill, args{names.killID: id}).Text
			assert.NotContains(t, text, "start")
			assert.Contains(t, text, "1001\n1002\n1003\n1004\n[the middle is left out]\n1997\n1998\n1999\n2000")
		})
	}
}

// awaitLine waits for a line of a job's output, and shows nothing of it.
func awaitLine(a *agent, pid int, line string) {
	a.t.Helper()
	r, err := a.bash.Check(a.t.Context(), shared.CheckRequest{PID: pid, Peek: true, Wait: plugintest.Hang, WaitFor: "^" + line + "$"})
	require.NoError(a.t, err)
	require.True(a.t, r.Matched)
}

func TestClaudeFiltersBothEnds(t *testing.T) {
	t.Parallel()
	a := newAgentWith(t, tool.Claude, plugin, tool.Options{Limits: limitEnds})
	id := a.run(args{"command": "seq 1000", "run_in_background": true}).ID
	text := a.use("BashOutput", args{"bash_id": id, "wait": 60000, "filter": "[79]$"}).Text
	assert.Contains(t, text, "<stdout>\n7\n9\n[the middle is left out]\n997\n999\n</stdout>")
	assert.Contains(t, text, "[stdout: Showing first 9 and last 4 lines; 1000 lines in all. ")
	id = a.run(args{"command": "printf 'x%.0s' {1..5000}; echo; echo z", "run_in_background": true}).ID
	text = a.use("BashOutput", args{"bash_id": id, "wait": 60000, "filter": "z"}).Text
	assert.Contains(t, text, "<stdout>\nz\n</stdout>")
}
