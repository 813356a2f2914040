//go:build unix

package contract

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Meaning 9: every command has a session of its own, nobody to ask, and an
// environment that says so.
func TestMeaning9EveryCommand(t *testing.T) {
	t.Parallel()
	leak(t)
	bash := plugintest.Launch(t)
	t.Run("leads its own session and process group", func(t *testing.T) {
		for _, command := range []string{"cut -d' ' -f5,6 /proc/$$/stat; true", "# " + strings.Repeat("x", 200<<10) + "\ncut -d' ' -f5,6 /proc/$$/stat; true"} {
			r := plugintest.Run(t, bash, command)
			assert.Equal(t, fmt.Sprintf("%d %d\n", r.PID, r.PID), r.Stdout.Content)
		}
	})
	t.Run("has no terminal", func(t *testing.T) {
		r := plugintest.Run(t, bash, "echo >/dev/tty; echo $?; read x </dev/tty; echo $?; tty; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none")
		assert.Equal(t, "1\n1\nnot a tty\nnone\n", r.Stdout.Content)
	})
	t.Run("has nothing on stdin", func(t *testing.T) {
		r := plugintest.Run(t, bash, "cat; read x; echo $?; readlink /proc/$$/fd/0")
		assert.Equal(t, "1\n/dev/null\n", r.Stdout.Content)
	})
	t.Run("has no other files", func(t *testing.T) {
		for _, command := range []string{"ls /proc/$$/fd; true", "# " + strings.Repeat("x", 200<<10) + "\nls /proc/$$/fd; true"} {
			assert.Equal(t, "0\n1\n2\n", plugintest.Run(t, bash, command).Stdout.Content)
		}
	})
	t.Run("ignores and blocks no signal", func(t *testing.T) {
		// 32 and 33 are the C library's own, which Go leaves as the host had them.
		r := plugintest.Run(t, bash, "for set in Blk Ign; do echo $(( 0x$(awk /Sig$set/'{print $2}' /proc/self/status) & ~0x180000000 )); done; yes | head -n 1; echo ${PIPESTATUS[*]}")
		assert.Equal(t, "0\n0\ny\n141 0\n", r.Stdout.Content)
		assert.Empty(t, r.Stderr.Content)
	})
	t.Run("has settings that keep tools from asking", func(t *testing.T) {
		vars := plugintest.Environment(t, bash)
		for name, want := range map[string]string{
			"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat",
			"GIT_TERMINAL_PROMPT": "0", "DEBIAN_FRONTEND": "noninteractive", "PYTHONUNBUFFERED": "1",
		} {
			assert.Equal(t, want, vars[name], name)
		}
		for _, name := range []string{"EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"} {
			assert.Contains(t, vars[name], "no editor here", name)
		}
		for name, want := range map[string]string{"": "", "GIT_ASKPASS=/a": "/a"} {
			bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"GPG_TTY=/dev/pts/0", cmp.Or(name, "A=")}, DropEnv: []string{"SSH_*"}})
			vars := plugintest.Environment(t, bash)
			assert.NotContains(t, vars, "GPG_TTY")
			if assert.Contains(t, vars, "GIT_ASKPASS") && os.Getenv("GIT_ASKPASS") == "" {
				assert.Equal(t, want, vars["GIT_ASKPASS"])
			}
		}
	})
	t.Run("does not see the plugin's own variables", func(t *testing.T) {
		for name, value := range plugintest.Environment(t, bash) {
			assert.False(t, strings.HasPrefix(name, "PLUGIN_"), name)
			assert.NotEqual(t, shared.Handshake.MagicCookieKey, name)
			assert.NotContains(t, value, shared.Handshake.MagicCookieValue)
		}
	})
	t.Run("can be a plugin itself", func(t *testing.T) {
		r := plugintest.Run(t, bash, plugintest.Path)
		assert.Equal(t, 1, r.ExitCode)
		assert.Contains(t, r.Stderr.Content, "host.Launch", "it says how to load it instead of serving")
	})
}

// leak opens a file as a careless host does: every child gets it.
func leak(t *testing.T) {
	t.Helper()
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
}

func TestEnvOfARequest(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"FROM_HOST=1", "BOTH=host", "EMPTY="}})
	vars := plugintest.Environment(t, bash, "MINE=2", "BOTH=request", "PAGER=less", "TERM=xterm", "TWICE=1", "TWICE=2", "A=b=c", "PLUGIN_MINE=kept")
	for name, want := range map[string]string{
		"FROM_HOST": "1", "MINE": "2", "BOTH": "request", "PAGER": "less", "TERM": "xterm", "TWICE": "2", "A": "b=c", "EMPTY": "",
		"PLUGIN_MINE": "kept", "HOME": os.Getenv("HOME"),
	} {
		value, ok := vars[name]
		assert.True(t, ok, name)
		assert.Equal(t, want, value, name)
	}
	vars = plugintest.Environment(t, bash)
	assert.NotContains(t, vars, "MINE", "of that request alone")
	assert.Equal(t, "host", vars["BOTH"])
	assert.Equal(t, "cat", vars["PAGER"])
}

// More than the system takes is refused at once: other calls and jobs go on.
func TestEnvOfManyVariables(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := plugintest.Background(t, bash, plugintest.Forever)
	env := make([]string, 300_000)
	for i := range env {
		env[i] = fmt.Sprintf("A%d=%d", i, i)
	}
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Env: env})
	require.ErrorIs(t, err, shared.ErrStart)
	r, err := bash.Check(t.Context(), shared.CheckRequest{PID: job.PID})
	require.NoError(t, err)
	assert.Equal(t, shared.StatusRunning, r.Status)
}

func TestLongCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir})
	plain := func(command string) (string, string, int) {
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = dir
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	// Whatever a command ends in means the same behind a long beginning.
	for name, end := range map[string]string{
		"plain":              "echo hi; exit 3",
		"comment":            "echo hi # no more",
		"backslash":          `echo hi \`,
		"backslash, newline": "echo hi \\\n",
		"heredoc":            "cat <<X\n one\n$((1+1))\nX",
		"heredoc, newline":   "cat <<'X'\n$one\nX\n",
		"unfinished heredoc": "cat <<X\none",
		"newlines":           "echo hi\n\n\n",
		"several lines":      "if true; then\n  echo 'a\n\nb'\nfi",
		"function":           "f() { echo \"$# $1\"; return 4; }; f 'x  y'",
		"syntax error":       "echo before\nif; then",
		"unfinished quote":   "echo before\necho 'no end",
		"exit trap":          "trap 'echo bye' EXIT; false",
		"set -e":             "set -e; false; echo never",
		"reads stdin":        "read -r x; echo $? [$x]; cat",
		"arguments":          "echo $0 $# $@ $-",
		"read variables":     "echo [$REPLY] [${REPLY+set}]; IFS= ; echo [$IFS]",
		"IFS":                "printf %q \"$IFS\"",
		"subshell and PID":   "[ $$ = $BASHPID ] && echo same; echo $BASH_SUBSHELL $SHLVL",
		"bytes beyond UTF-8": "printf '%s' '\xff\xfe\x80' | od -An -tx1",
		"trailing blanks":    "echo a   \t ",
		"carriage return":    "echo 'a\rb' | od -An -c",
		"killed by itself":   "kill -KILL $$",
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, code := plain(end)
			for _, size := range []int{128 << 10, 128<<10 + 1, 300 << 10, shared.MaxCommandBytes} {
				padding := ": " + strings.Repeat("x", size-len(end)-3) + "\n"
				require.Len(t, padding+end, size)
				r := plugintest.Run(t, bash, padding+end)
				switch name {
				case "carriage return", "bytes beyond UTF-8":
					assert.Equal(t, stdout, r.Stdout.Content)
				case "killed by itself":
					assert.Equal(t, "SIGKILL", r.Signal)
					assert.Equal(t, 137, r.ExitCode)
					continue
				default:
					assert.Equal(t, stdout, r.Stdout.Content)
				}
				assert.Equal(t, code, r.ExitCode)
				assert.Equal(t, padding+end, r.Command)
			}
		})
	}
	t.Run("around the limit of an argument", func(t *testing.T) {
		for size := 128<<10 - 3; size <= 128<<10+3; size++ {
			command := "echo " + strings.Repeat("x", size-5)
			r := plugintest.Run(t, bash, command)
			assert.EqualValues(t, size-4, r.Stdout.TotalBytes)
		}
	})
	t.Run("in one line", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "printf %s '" + strings.Repeat("y", 500<<10) + "' | wc -c; exit 3"})
		assert.Equal(t, "512000\n", r.Stdout.Content)
		assert.Equal(t, 3, r.ExitCode)
	})
	t.Run("whose lines are counted", func(t *testing.T) {
		r := plugintest.Run(t, bash, ": "+strings.Repeat("x", 200<<10)+"\necho $LINENO; nosuchcommand")
		assert.Equal(t, "2\n", r.Stdout.Content)
		assert.Contains(t, r.Stderr.Content, "line 2: nosuchcommand")
	})
	t.Run("that starts a job", func(t *testing.T) {
		r := plugintest.Run(t, bash, ": "+strings.Repeat("x", 200<<10)+"\n"+plugintest.Forever+" & echo $!")
		child := plugintest.Number(t, r.Stdout.Content)
		assert.Len(t, r.Leftover, 1)
		plugintest.Kill(t, bash, r.PID)
		assert.False(t, plugintest.Alive(child))
	})
}

func TestALongCommandUnderErrexit(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{
		Command: "# " + strings.Repeat("x", 200<<10) + "\necho runs; false; echo not",
		Env:     []string{"SHELLOPTS=errexit"},
	})
	assert.Equal(t, "runs\n", r.Stdout.Content)
	assert.Equal(t, 1, r.ExitCode)
}

// A long command that is taken by what runs before it has not succeeded.
func TestALongCommandThatIsLost(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	long := "# " + strings.Repeat("x", 200<<10) + "\necho runs; exit 6"
	for name, text := range map[string]string{"another file": "exec 3>&1", "read": "cat <&3 >/dev/null"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rc")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: long, Env: []string{"BASH_ENV=" + file}})
			assert.Equal(t, shared.StatusFailed, r.Status)
			assert.Equal(t, 126, r.ExitCode)
			assert.Contains(t, r.Stderr.Content, "BASH_ENV uses descriptor 3")
		})
	}
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: long, Env: []string{"BASH_FUNC_eval%%=() { :; }", "BASH_FUNC_read%%=() { :; }"}})
	assert.Equal(t, "runs\n", r.Stdout.Content)
	assert.Equal(t, 6, r.ExitCode)
}

// A model may remove the directory that it works in, and has a way out.
func TestCommandsBeginInASessionDirectoryThatIsGone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux leads back to a directory that was removed")
	}
	dir := filepath.Join(t.TempDir(), "worktree")
	require.NoError(t, os.Mkdir(dir, 0o700))
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir})
	for _, request := range []string{"", dir} {
		plugintest.Execute(t, bash, shared.ExecuteRequest{Command: `rm -r "$PWD"`})
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo x >y; ls; cd / && pwd", Dir: request})
		assert.Equal(t, "/\n", r.Stdout.Content)
		assert.Contains(t, r.Stderr.Content, "No such file or directory")
		assert.Equal(t, dir, r.Dir)
		assert.Equal(t, "/\n", plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "pwd", Dir: "/"}).Stdout.Content)
		_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Dir: "elsewhere"})
		plugintest.RequireCode(t, err, shared.ErrInvalid)
		plugintest.Execute(t, bash, shared.ExecuteRequest{Command: `mkdir "$PWD"`, Dir: request})
		assert.Equal(t, "y\n", plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo x >y; ls", Dir: request}).Stdout.Content)
	}
}
