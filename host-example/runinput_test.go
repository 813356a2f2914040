//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

func TestRunPassesItsInputOn(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "run", "-i", "wc -c; exit 3")
	cmd.Stdin = strings.NewReader(strings.Repeat("0123456\n", 1<<19)) // more than waits in memory
	assert.Equal(t, ran{"4194304\n", "", 3}, finish(t, cmd))
	cmd = program(t, "host-example", "run", "-i", "head -n 1")
	cmd.Stdin = strings.NewReader("one\ntwo\n")
	assert.Equal(t, ran{"one\n", "", 0}, finish(t, cmd))
	cmd = program(t, "host-example", "run", "wc -c")
	cmd.Stdin = strings.NewReader("data\n")
	assert.Equal(t, "0\n", finish(t, cmd).stdout)
}

// goesOn runs a command with input, opens the gate once a notice says that the command
// goes on, and returns what came.
func goesOn(t *testing.T, g gate, args ...string) ran {
	t.Helper()
	notices, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer notices.Close()
	var stdout bytes.Buffer
	cmd := program(t, "host-example", append([]string{"run", "-i"}, args...)...)
	cmd.Stdin = strings.NewReader("one\ntwo\n")
	cmd.Stdout, cmd.Stderr = &stdout, notices
	require.NoError(t, cmd.Start())
	defer time.AfterFunc(2*hang, func() { _ = cmd.Process.Kill() }).Stop()
	said := func() string {
		text, err := os.ReadFile(notices.Name())
		require.NoError(t, err)
		return string(text)
	}
	if assert.Eventually(t, func() bool { return strings.Contains(said(), " elsewhere]\n") }, hang, time.Millisecond) {
		g.open(t)
	} else {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	return ran{stdout.String(), said(), cmd.ProcessState.ExitCode()}
}

// With input the modes are what they are without it.
func TestRunWithInputAtTheTimeout(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"detach by default": {"-timeout", "50ms"},
		"detach":            {"-timeout", "50ms", "-mode", "detach"},
		"background":        {"-mode", "background"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			r := goesOn(t, g, append(flags, "read -r line; echo $line; "+g.wait()+"; cat; exit 4")...)
			assert.Equal(t, "one\ntwo\n", r.stdout)
			assert.Equal(t, 4, r.code)
			notice := `(?s)^\[still running after \d.*, as job \d+; its output goes on here\]\n\[follow: .* elsewhere\]\n$`
			assert.Regexp(t, notice, r.stderr)
		})
	}
	t.Run("the Result comes at the end", func(t *testing.T) {
		t.Parallel()
		g := newGate(t)
		r := goesOn(t, g, "-json", "-timeout", "50ms", "read -r line; echo $line; "+g.wait()+"; cat")
		var result shared.Result
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &result))
		assert.Equal(t, "one\ntwo\n", result.Stdout.Content)
		assert.Equal(t, shared.StatusCompleted, result.Status)
		assert.Contains(t, r.stderr, "; the Result comes at its end]")
	})
	for _, mode := range []string{"terminate", "background"} {
		t.Run("killed, "+mode, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, "host-example", "run", "-i", "-mode", mode, "-timeout", "2s", "read -r line; echo $line; "+endless)
			cmd.Stdin = strings.NewReader("one\n")
			r := finish(t, cmd)
			assert.Equal(t, "one\n", r.stdout)
			assert.Equal(t, 143, r.code)
			assert.Contains(t, r.stderr, "[killed at the timeout, after ")
			assert.Equal(t, mode == "background", strings.Contains(r.stderr, "[still running"), r.stderr)
		})
	}
	r := hostExample(t, "run", "-plugin", "/nowhere/plugin", "-i", "-mode", "auto", "true")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, "-mode auto does not go with -i: use detach, terminate or background")
}

// Which timeout holds where none is given is too long to wait for.
func TestTheTimeoutOfACommandWithInput(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct{ timeout, patience time.Duration }{
		"":                             {0, forever},
		"-timeout 5s":                  {0, 5 * time.Second},
		"-mode terminate":              {shared.DefaultTimeout, forever},
		"-mode terminate -timeout 5s":  {5 * time.Second, forever},
		"-mode background":             {0, 0},
		"-timeout 5s -mode background": {5 * time.Second, 0},
	} {
		var o oneRun
		_, err := o.parse(append(strings.Fields(args), "-i", "cat"))
		require.NoError(t, err)
		job := shared.ExecuteRequest{Command: "cat", Mode: shared.ModeBackground, Stdin: shared.StdinPipe}
		job.Timeout = want.timeout
		assert.Equal(t, job, o.req, args)
		assert.Equal(t, want.patience, o.patience, args)
	}
}

// A signal ends a command with input before its timeout and after it.
func TestRunWithInputPassesASignalOn(t *testing.T) {
	t.Parallel()
	for _, timeout := range []string{"0", "1ms"} {
		r := startHost(t, "run", "-i", "-timeout", timeout, "setsid "+endless+" & echo $!; wait")
		child := pidIn(t, r.line(t))
		require.NoError(t, r.Process.Signal(os.Interrupt))
		assert.Equal(t, 130, r.end(t), timeout)
		gone(t, child)
		assert.NotContains(t, r.stderr.String(), "killed")
	}
}
