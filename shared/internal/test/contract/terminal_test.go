//go:build unix

package contract

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// atTerminal starts a program in a terminal, as a job.
func atTerminal(t *testing.T, bash shared.Bash, req shared.ExecuteRequest) int {
	t.Helper()
	program, _, _ := strings.Cut(req.Command, " ")
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program, "is not installed")
	}
	req.Mode, req.Stdin = shared.ModeBackground, shared.StdinTTY
	r := plugintest.Execute(t, bash, req)
	require.Empty(t, r.Cause)
	return r.PID
}

// awaitScreen returns once the terminal shows all texts.
func awaitScreen(t *testing.T, bash shared.Bash, pid int, texts ...string) string {
	t.Helper()
	var r *shared.Result
	defer func() {
		if t.Failed() {
			t.Logf("%s, screen:\n%s", r.Status, r.Screen)
		}
	}()
	for _, text := range texts {
		plugintest.Eventually(t, text+" on the screen", func() bool {
			r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
			return strings.Contains(r.Screen, text)
		})
	}
	return r.Screen
}

// press types keys, without waiting for what they do.
func press(t *testing.T, bash shared.Bash, pid int, keys string) {
	t.Helper()
	plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: keys, Peek: true})
}

func TestATerminalIsOne(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: append(os.Environ(), "PAGER=more", "EDITOR=ed", "COLUMNS=9", "LINES=9")})
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Stdin: shared.StdinTTY, Command: `tty; for i in 0 1 2; do test -t $i || echo no $i; done; echo to tty >/dev/tty; echo err >&2
		stty size; echo $TERM $PAGER $EDITOR ${GIT_TERMINAL_PROMPT-asks}; env | grep -E '^(COLUMNS|LINES)='; printf '\033[31mred\033[0m\n'`})
	assert.Regexp(t, "^/dev/pts/\\d+\nto tty\nerr\n40 120\nxterm-256color more ed asks\nred\n$", r.Stdout.Content)
	assert.Empty(t, r.Stderr.Content, "one stream")
	assert.Equal(t, strings.TrimSuffix(r.Stdout.Content, "\n"), r.Screen, "so short an output is all on the screen")
	r = plugintest.Execute(t, bash, shared.ExecuteRequest{Stdin: shared.StdinTTY, Columns: 500, Rows: 7, Command: "stty size; yes no | head -n 9; printf %0300d 7; echo; echo; echo"})
	assert.Equal(t, "no\nno\nno\n"+strings.Repeat("0", 299)+"7", r.Screen)
	for _, req := range []shared.ExecuteRequest{{Columns: -1}, {Columns: 501}, {Rows: -1}, {Rows: 201}} {
		req.Command, req.Stdin = "true", shared.StdinTTY
		_, err := bash.Execute(t.Context(), req)
		assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrInvalid).Message, "0 for ")
	}
}

func TestControlKeysOfATerminal(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Stdin: shared.StdinTTY, Command: "cat", Input: "line\n\x04"})
	assert.Equal(t, "line\nline\n", r.Stdout.Content, "what is typed, and what cat says")
	pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "bash -c 'trap \"echo caught; exit\" INT; echo up; read'; echo over"})
	plugintest.AwaitText(t, bash, pid, "up")
	plugintest.Eventually(t, "a read", func() bool {
		return plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Peek: true}).Waiting == "input"
	})
	if where, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid)); err == nil && string(where) != "0" {
		plugintest.Eventually(t, "the first bash waits: before that Ctrl-C ends it", func() bool {
			where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
			return strings.Contains(string(where), "wait")
		})
	}
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "\x03", Wait: plugintest.Hang, WaitFor: "over"})
	assert.True(t, r.Matched, "%v", r)
	assert.Contains(t, r.Stdout.Content, "caught\n")
	pid = atTerminal(t, bash, shared.ExecuteRequest{Command: "bash -c 'echo up; wc -l'"})
	plugintest.AwaitText(t, bash, pid, "up")
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "a\nb\n", CloseInput: true, Wait: plugintest.Hang})
	assert.Equal(t, shared.StatusCompleted, r.Status, "CloseInput is Ctrl-D: %v", r)
	assert.Contains(t, r.Stdout.Content, "2\n")
}

// Nothing of what the command wrote last is lost, and nothing survives.
func TestTheEndOfATerminal(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for range 3 {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Stdin: shared.StdinTTY, Command: "seq 8000"})
		require.EqualValues(t, 8000, r.Stdout.TotalLines)
		require.True(t, strings.HasSuffix(r.Stdout.Content, "\n7999\n8000\n"))
	}
	pid := atTerminal(t, bash, shared.ExecuteRequest{Command: `bash -c 'trap "" HUP TERM; setsid sleep 1000 & sleep 1000 & echo $! $$; cat'`})
	pids := plugintest.Numbers(t, plugintest.AwaitText(t, bash, pid, `\d+ \d+`).Stdout.Content)
	r := plugintest.Kill(t, bash, pid)
	assert.Equal(t, shared.CauseKill, r.Cause)
	plugintest.AwaitDeath(t, append(pids, pid)...)
}

func TestAConfinedTerminal(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	confined := &shared.Confine{ReadOnly: true, Private: true, NoNetwork: true, BestEffort: true}
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Stdin: shared.StdinTTY, Confine: confined, Resources: shared.Resources{Disk: 1 << 20},
		Command: "read -rsp 'Password: ' word </dev/tty; echo; echo got $word >/dev/tty; stty size", Input: "secret\n"})
	assert.Contains(t, r.Stdout.Content, "got secret\n40 120\n")
	assert.NotEmpty(t, r.Confined)
}

// A flood never waits for the screen, and the screen shows its end.
func TestAFloodOnATerminal(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "seq 300000"})
	assert.EqualValues(t, 300000, plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang}).Stdout.TotalLines)
	assert.Regexp(t, "^299962\n", awaitScreen(t, bash, pid, "\n299999\n300000"))
}

func TestProgramsAtATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir, Env: append(os.Environ(), "HOME="+dir)})
	t.Run("vim", func(t *testing.T) {
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "vim -u NONE note"})
		awaitScreen(t, bash, pid, "[New", "~")
		press(t, bash, pid, "ihello\x1b")
		awaitScreen(t, bash, pid, "hello")
		press(t, bash, pid, "yyp0Rj\x1b:wq\r")
		require.Equal(t, shared.StatusCompleted, plugintest.AwaitEnd(t, bash, pid).Status)
		assert.Equal(t, "hello\njello\n", plugintest.ReadFile(t, filepath.Join(dir, "note")))
	})
	t.Run("less", func(t *testing.T) {
		plugintest.Run(t, bash, "seq -f 'line %g' 1000 >lines")
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "less lines", Columns: 80, Rows: 10})
		awaitScreen(t, bash, pid, "line 9\n")
		press(t, bash, pid, " ")
		assert.NotContains(t, awaitScreen(t, bash, pid, "line 18\n"), "line 9\n")
		press(t, bash, pid, "/777\r")
		awaitScreen(t, bash, pid, "line 777\n")
		press(t, bash, pid, "q")
		plugintest.AwaitEnd(t, bash, pid)
	})
	t.Run("python3", func(t *testing.T) {
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "python3 -q"})
		plugintest.AwaitText(t, bash, pid, ">>> $")
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "print(6*7)\r", Wait: plugintest.Hang, WaitFor: "^42\n>>> $"})
		assert.True(t, r.Matched)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "\x04", Wait: plugintest.Hang})
		assert.Equal(t, shared.StatusCompleted, r.Status)
	})
	t.Run("git add -p", func(t *testing.T) {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("git is not installed")
		}
		plugintest.Run(t, bash, "git init -q repo && cd repo && echo one >file && git add file && git -c user.name=n -c user.email=e commit -qm m && echo two >>file")
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "git add -p", Dir: filepath.Join(dir, "repo")})
		awaitScreen(t, bash, pid, "Stage this hunk")
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "y\r", Wait: plugintest.Hang})
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Contains(t, plugintest.Run(t, bash, "git -C repo diff --cached").Stdout.Content, "+two")
	})
	t.Run("bash -i", func(t *testing.T) {
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "bash --norc -i"})
		plugintest.AwaitText(t, bash, pid, `[#$] $`)
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "echo $((6*7))\r", Wait: plugintest.Hang, WaitFor: `^42\n.*[#$] $`})
		assert.True(t, r.Matched, r.Stdout.Content)
		press(t, bash, pid, "\x1b[A\x7f\x7f\x7f8))\r") // the line before, with another end
		awaitScreen(t, bash, pid, "\n48\nbash")
		press(t, bash, pid, "(echo rea''dy; exec sleep 1000)\r")
		awaitScreen(t, bash, pid, "\nready")
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "\x1a", Wait: plugintest.Hang, WaitFor: `Stopped.*\n.*[#$] $`}) // Ctrl-Z
		assert.True(t, r.Matched)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "exit 5\rexit 5\r", Wait: plugintest.Hang})
		assert.Equal(t, 5, r.ExitCode, r.Screen)
	})
	t.Run("a password", func(t *testing.T) {
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "bash -c 'read -rsp \"Password: \" word; echo; [[ $word == secret ]] && echo welcome'"})
		plugintest.AwaitText(t, bash, pid, "Password: $")
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "secret\r", Wait: plugintest.Hang, All: true})
		assert.Equal(t, "Password: \nwelcome\n", r.Stdout.Content, "it is not shown")
	})
	t.Run("top", func(t *testing.T) {
		pid := atTerminal(t, bash, shared.ExecuteRequest{Command: "top -d 1"})
		awaitScreen(t, bash, pid, "PID USER", "load average")
		press(t, bash, pid, "q")
		plugintest.AwaitEnd(t, bash, pid)
	})
}

// A terminal that nobody holds open for a while is read on once somebody opens it again.
func TestATerminalThatIsClosedAndOpenedAgain(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	const away = "exec </dev/null >>log 2>&1; sleep 0.2; "
	for name, command := range map[string]string{
		"by /dev/tty": away + "seq 100000 >/dev/tty",
		"twice":       away + "seq 50000 >/dev/tty; sleep 0.2; seq 50001 100000 >/dev/tty",
		"by a child":  "(" + away + "seq 100000 >/dev/tty) & exec </dev/null >>log 2>&1; wait",
		"by its name": "tty=$(tty); " + away + "exec >$tty; seq 100000",
		"by a reader": away + "bash -c 'exec <>/dev/tty >&0; seq 100000'",
	} {
		for _, confined := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, confined %v", name, confined), func(t *testing.T) {
				t.Parallel()
				req := shared.ExecuteRequest{Dir: t.TempDir(), Stdin: shared.StdinTTY, Mode: shared.ModeBackground}
				if confined {
					req.Confine = &shared.Confine{ReadOnly: true, Writable: []string{req.Dir}, Private: true, BestEffort: true}
				}
				req.Command = command + "; echo that was all >/dev/tty; read w </dev/tty; echo got $w >/dev/tty; " + plugintest.Forever
				r := plugintest.Execute(t, bash, req)
				r = plugintest.AwaitText(t, bash, r.PID, "that was all\\n$")
				assert.EqualValues(t, 100001, r.Stdout.TotalLines)
				awaitScreen(t, bash, r.PID, "\n100000\nthat was all")
				r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Input: "word\n", Wait: plugintest.Hang, WaitFor: "^got word"})
				assert.True(t, r.Matched)
				plugintest.Kill(t, bash, r.PID)
			})
		}
	}
}
