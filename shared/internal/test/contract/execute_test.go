//go:build unix

package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Meaning 1: a command that fails is a Result; an error says that there is no
// outcome.
func TestMeaning1ErrorsAndOutcomes(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, c := range []struct {
		command string
		status  shared.Status
		code    int
		signal  string
	}{
		{"true", shared.StatusCompleted, 0, ""},
		{"exit 0", shared.StatusCompleted, 0, ""},
		{"false", shared.StatusFailed, 1, ""},
		{"exit 42", shared.StatusFailed, 42, ""},
		{"exit 255", shared.StatusFailed, 255, ""},
		{"exit 143", shared.StatusFailed, 143, ""},
		{"no-such-program-here", shared.StatusFailed, 127, ""},
		{"/etc/passwd", shared.StatusFailed, 126, ""},
		{"if", shared.StatusFailed, 2, ""},
		{"kill -TERM $$; sleep 1000", shared.StatusFailed, 143, "SIGTERM"},
		{"kill -KILL $$; sleep 1000", shared.StatusFailed, 137, "SIGKILL"},
		{"kill -SEGV $$; sleep 1000", shared.StatusFailed, 139, "SIGSEGV"},
		{"bash -c 'kill -KILL $$'; true", shared.StatusCompleted, 0, ""},
	} {
		t.Run(c.command, func(t *testing.T) {
			r := plugintest.Run(t, bash, c.command)
			assert.Equal(t, c.status, r.Status)
			assert.Equal(t, c.code, r.ExitCode)
			assert.Equal(t, c.signal, r.Signal)
			assert.Empty(t, r.Cause)
			assert.Positive(t, r.PID)
		})
	}
	t.Run("no outcome", func(t *testing.T) {
		r, err := bash.Execute(t.Context(), shared.ExecuteRequest{})
		assert.Nil(t, r)
		plugintest.RequireCode(t, err, shared.ErrInvalid)
		r, err = bash.Check(t.Context(), shared.CheckRequest{PID: 1 << 30})
		assert.Nil(t, r)
		plugintest.RequireCode(t, err, shared.ErrNotFound)
		r, err = bash.Kill(t.Context(), shared.KillRequest{PID: 1 << 30})
		assert.Nil(t, r)
		plugintest.RequireCode(t, err, shared.ErrNotFound)
	})
}

func TestExecuteGivesBothStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir})
	before := time.Now()
	r := plugintest.Run(t, bash, "echo out; echo err >&2; exit 3")
	assert.Equal(t, shared.Output{Content: "out\n", TotalLines: 1, TotalBytes: 4, OutputLines: 1, OutputBytes: 4}, r.Stdout)
	assert.Equal(t, shared.Output{Content: "err\n", TotalLines: 1, TotalBytes: 4, OutputLines: 1, OutputBytes: 4}, r.Stderr)
	assert.Equal(t, "echo out; echo err >&2; exit 3", r.Command)
	assert.Equal(t, dir, r.Dir)
	assert.Equal(t, 3, r.ExitCode)
	assert.Empty(t, r.Leftover)
	assert.Empty(t, r.Jobs)
	assert.Positive(t, r.Duration)
	assert.WithinRange(t, r.Started, before.Add(-time.Second), time.Now())
}

func TestExecuteOfSilence(t *testing.T) {
	t.Parallel()
	r := plugintest.Run(t, plugintest.Launch(t), "true")
	assert.Equal(t, shared.Output{}, r.Stdout)
	assert.Equal(t, shared.Output{}, r.Stderr)
}

func TestExecutePassesTheCommandUnchanged(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for name, c := range map[string]struct{ command, want string }{
		"quotes":               {`echo "a  b" 'c"d' \$HOME`, "a  b c\"d $HOME\n"},
		"comment at the end":   {"echo a # no newline", "a\n"},
		"backslash at the end": {`echo a \`, "a \n"},
		"heredoc":              {"cat <<X\none\n  two\nX", "one\n  two\n"},
		"unterminated heredoc": {"cat <<X 2>/dev/null\nonly", "only\n"},
		"several lines":        {"x=1\nif true; then\n\techo $x\nfi\n", "1\n"},
		"bash, not sh":         {"a=(1 2 3); echo ${a[@]:1} $((2**10)) <(:) | cut -d/ -f1", "2 3 1024 \n"},
		"pipe status":          {"false | true; echo ${PIPESTATUS[*]}", "1 0\n"},
		"unicode":              {"echo 'grüße, 世界'", "grüße, 世界\n"},
		"dollar zero":          {"echo $0 $#", "bash 0\n"},
		"leading dash":         {"-x 2>/dev/null; echo $?", "127\n"},
		"shebang":              {"#!/bin/sh\necho hi", "hi\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run(t, bash, c.command)
			if name == "backslash at the end" { // as bash has it, whatever its version
				assert.Contains(t, []string{"a \n", "a \\\n"}, r.Stdout.Content)
				return
			}
			assert.Equal(t, c.want, r.Stdout.Content)
			assert.Equal(t, c.command, r.Command)
		})
	}
}

func TestExecuteIsStateless(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir})
	plugintest.Run(t, bash, "cd /; export LEFT=over; alias hi=echo; set -e; umask 0")
	r := plugintest.Run(t, bash, `pwd; echo "[$LEFT]"; umask`)
	lines := strings.Split(r.Stdout.Content, "\n")
	assert.Equal(t, dir, lines[0])
	assert.Equal(t, "[]", lines[1])
	assert.NotEqual(t, "0000", lines[2])
}

func TestExecuteDir(t *testing.T) {
	t.Parallel()
	session, other := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(session, "sub"), 0o700))
	require.NoError(t, os.Symlink(other, filepath.Join(session, "link")))
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: session})
	for dir, want := range map[string]string{
		"":     session,
		"sub":  filepath.Join(session, "sub"),
		"..":   filepath.Dir(session),
		other:  other,
		"link": filepath.Join(session, "link"),
	} {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: `echo "$PWD"; readlink /proc/$$/cwd; true`, Dir: dir})
		physical, err := filepath.EvalSymlinks(want)
		require.NoError(t, err)
		assert.Equal(t, want+"\n"+physical+"\n", r.Stdout.Content)
		assert.Equal(t, want, r.Dir)
	}
}

func TestExecuteInTheHostsDirectoryByDefault(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	r := plugintest.Run(t, plugintest.Launch(t), "pwd -P")
	assert.Equal(t, here+"\n", r.Stdout.Content)
	assert.Equal(t, here, r.Dir)
}

func TestExecuteMergeKeepsTheOrder(t *testing.T) {
	t.Parallel()
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{Command: "for i in 1 2 3; do echo out$i; echo err$i >&2; done", Merge: true})
	assert.Equal(t, "out1\nerr1\nout2\nerr2\nout3\nerr3\n", r.Stdout.Content)
	assert.Equal(t, shared.Output{}, r.Stderr)
}

func TestExecutesRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	first := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: g.Wait() + "; echo first"})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: fmt.Sprintf("echo %d; echo %d >&2", i, -i)})
			if assert.NoError(t, err) {
				assert.Equal(t, fmt.Sprintf("%d\n", i), r.Stdout.Content)
				assert.Equal(t, fmt.Sprintf("%d\n", -i), r.Stderr.Content)
			}
		})
	}
	wg.Wait() // although the first one is still running
	g.Open(t)
	done := plugintest.Await(t, first)
	require.NoError(t, done.Err)
	assert.Equal(t, "first\n", done.Result.Stdout.Content)
}
