//go:build unix

package contract

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// A program that wants an editor fails and says what to do instead, however it starts
// its editor: through a shell with the file's name in the command or as an argument,
// or by splitting the variable itself.
func TestEditorsSayWhatToDoInstead(t *testing.T) {
	t.Parallel()
	const repository = "git init -q . && git config user.email a@b && git config user.name c && echo 1 >f && git add f && git commit -qm first && "
	for command, program := range map[string]string{
		repository + "echo 2 >f && git commit -a": "git",
		repository + "git commit --amend":         "git",
		repository + "git rebase -i --root":       "git",
		repository + "git tag -a v1":              "git",
		repository + "git config core.editor vi; git config sequence.editor vi; git rebase -i --root": "git",
		"crontab -e":                                     "crontab",
		"touch f && sudoedit f":                          "sudoedit",
		"touch f && visudo -f f":                         "visudo",
		"touch f && $EDITOR f; eval $EDITOR f":           "bash",
		`touch f && sh -c "exec $EDITOR 'f'"`:            "sh",
		`touch f && sh -c "$VISUAL \"\$@\"" "$VISUAL" f`: "sh",
	} {
		t.Run(command[strings.LastIndex(command, "&&")+1:], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(program, "is not installed")
			}
			dir := t.TempDir()
			r := plugintest.Execute(t, plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir}), shared.ExecuteRequest{Command: command, Mode: shared.ModeTerminate, Timeout: plugintest.Hang})
			assert.Empty(t, r.Cause)
			assert.Contains(t, r.Stderr.Content, "no editor here: use -m,")
			if program != "sudoedit" && program != "visudo" { // which report an unchanged file instead
				assert.NotZero(t, r.ExitCode)
			}
		})
	}
}

// Programs for a terminal end by themselves, because they have neither a terminal nor
// an input. (Without them vi and vim wait for stderr, and watch never ends.)
func TestProgramsForATerminalEnd(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: t.TempDir()})
	plugintest.Run(t, bash, "echo text >file")
	for _, command := range []string{
		"nano file", "emacs -nw file", "ssh nobody@127.0.0.1", "passwd", "su", "su nobody", "top", "mysql", "mysql -p", "psql", "psql -W -h 127.0.0.1",
		"python3", "node", "gdb", "gdb /bin/true", "less file", "more file", "man ls", "sqlite3", "bc", "bash -i", "sudo -k true", "ssh-keygen -t ed25519 -f key", "read line", "select x in a b; do :; done",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			program, _, _ := strings.Cut(command, " ")
			if _, err := exec.LookPath(program); err != nil && program != "read" && program != "select" {
				t.Skip(program, "is not installed")
			}
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeTerminate, Timeout: 20 * time.Second})
			assert.Empty(t, r.Cause, "%s%s", r.Stdout.Content, r.Stderr.Content)
		})
	}
}
