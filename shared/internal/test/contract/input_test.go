//go:build unix

package contract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// talk starts a command with an open stdin, as a job.
func talk(t *testing.T, bash shared.Bash, command string) int {
	t.Helper()
	return plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground, Stdin: shared.StdinPipe}).PID
}

func TestOneCheckIsAnExchange(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := talk(t, bash, `while printf '$ ' && read -r line; do echo "you said $line"; done; echo bye`)
	plugintest.AwaitText(t, bash, pid, `^\$ $`)
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "one\n", Wait: plugintest.Hang, WaitFor: `\$ $`})
	assert.True(t, r.Matched)
	assert.Equal(t, "you said one\n$ ", r.Stdout.Content)
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: "two\n", Wait: plugintest.Hang, WaitFor: `\$ $`})
	assert.Equal(t, "you said two\n$ ", r.Stdout.Content)
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, CloseInput: true, Wait: plugintest.Hang})
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Equal(t, "bye\n", r.Stdout.Content)
}

func TestInputOfExecuteComesFirstAndStdinStaysOpen(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: `read -r a; echo "$a"; exec cat`, Stdin: shared.StdinPipe, Input: "first\nsec", Timeout: plugintest.Soon})
	assert.Equal(t, shared.StatusRunning, r.Status)
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Input: "ond\n", CloseInput: true, Wait: plugintest.Hang, All: true})
	assert.Equal(t, "first\nsecond\n", r.Stdout.Content)
	r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "cat", Stdin: shared.StdinNone})
	assert.Empty(t, r.Stdout.Content, "without Stdin it is /dev/null")
}

// What a command does not read waits in memory: no call waits for it, and all of it
// arrives once the command reads.
func TestInputWaitsForItsReader(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	pid := talk(t, bash, g.Wait()+"; exec cksum")
	chunk := strings.Repeat("0123456789abcde\n", shared.MaxInputBytes/16)
	plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: chunk})
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid, Input: chunk})
	require.ErrorContains(t, plugintest.RequireCode(t, err, shared.ErrInvalid), "has not read yet are more than 1048576: wait until it reads them")
	g.Open(t)
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, CloseInput: true, Wait: plugintest.Hang})
	want := plugintest.Run(t, bash, "head -c 1048576 < <(yes 0123456789abcde) | cksum")
	assert.Equal(t, want.Stdout.Content, r.Stdout.Content)
}

func TestInputHasNowhereToGo(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	ended := talk(t, bash, "true")
	plugintest.AwaitEnd(t, bash, ended)
	closed := talk(t, bash, "cat; "+plugintest.Forever)
	plugintest.Check(t, bash, shared.CheckRequest{PID: closed, CloseInput: true})
	plugintest.Check(t, bash, shared.CheckRequest{PID: closed, CloseInput: true})
	deaf := talk(t, bash, "exec <&-; echo deaf; "+plugintest.Forever)
	plugintest.AwaitText(t, bash, deaf, "deaf")
	plugintest.Eventually(t, "the end of the pipe", func() bool {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: deaf, Input: "x"})
		return err != nil
	})
	for text, pid := range map[string]int{
		"the job has ended: start the command again":      ended,
		"stdin was closed by CloseInput":                  closed,
		"the command does not read its stdin any more":    deaf,
		"the job has no stdin: start the command with on": plugintest.Background(t, bash, plugintest.Forever).PID,
	} {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid, Input: "x"})
		e := plugintest.RequireCode(t, err, shared.ErrInvalid)
		assert.Equal(t, "Input", e.Field)
		assert.Contains(t, e.Message, text)
	}
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "cat", Input: "x"})
	assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrInvalid).Message, `Input needs a stdin: set Stdin to one of ["pipe"`)
	_, err = bash.Check(t.Context(), shared.CheckRequest{PID: shared.AllJobs, Input: "x"})
	assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrInvalid).Message, "Input and CloseInput need the PID of one job")
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "cat", Stdin: "file"})
	assert.Equal(t, "Stdin", plugintest.RequireCode(t, err, shared.ErrInvalid).Field)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "cat", Stdin: shared.StdinPipe, Input: strings.Repeat("x", shared.MaxInputBytes+1)})
	assert.Equal(t, "Input", plugintest.RequireCode(t, err, shared.ErrInvalid).Field)
}

// A command that never reads ends as any other does, with its input unread.
func TestAJobEndsWithItsInputUnread(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := talk(t, bash, "echo up; "+plugintest.Forever)
	plugintest.AwaitText(t, bash, pid, "up")
	plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: strings.Repeat("x", shared.MaxInputBytes)})
	assert.Equal(t, shared.CauseKill, plugintest.Kill(t, bash, pid).Cause)
	plugintest.AwaitDeath(t, pid)
	pid = talk(t, bash, "sleep 1000 & echo left")
	plugintest.AwaitText(t, bash, pid, "left")
	plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Input: strings.Repeat("x", shared.MaxInputBytes)})
	plugintest.Kill(t, bash, pid)
}
