package tool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
			id := a.run(args{"command": "seq 1 40000; read < written; " + forever, names.start: true}).ID
			open()
			label := map[bool]string{true: "output", false: "stdout"}[dialect == tool.Native]
			text := a.use(names.kill, args{names.killID: id}).Text
			assert.Contains(t, text, "\n40000\n")
			assert.Regexp(t, `\n\[`+label+`: Showing last \d+ of 40000 lines\. Full output: /\S+\]$`, text)

			again := `\n\[` + label + `: 40000 lines, not shown again\. Full output: /\S+\]$`
			assert.Regexp(t, again, a.use(names.output, args{names.id: id}).Text)
			assert.Regexp(t, again, a.use(names.kill, args{names.killID: id}).Text)
		})
	}
}

func TestNativeKilledJobIsDescribedAsShown(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	id := a.run(args{"command": "echo one; " + forever, "background": true}).ID
	a.collect("bash_job", args{"id": id}, "", "one")
	assert.Equal(t, "[job "+id+" terminated; no new output]", a.use("bash_kill", args{"id": id}).Text)
	want := `^\[job ` + id + ` killed; no new output\]\n\[output: 1 line, not shown again\. (Full output: /\S+)\]$`
	text := a.use("bash_job", args{"id": id, "all": true}).Text
	assert.Regexp(t, want, text)
	assert.FileExists(t, oneOf(t, `Full output: (/\S+)\]`, text))
	assert.Regexp(t, want, a.use("bash_job", args{"id": id, "wait_for": "one"}).Text)
}
