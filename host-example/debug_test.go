//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// debugged is a plugin that serves by itself.
type debugged struct {
	*conversation
	where host.Reattach
	value string // for the environment
}

var exportLine = regexp.MustCompile(`(?m)^export BASH_PLUGIN_REATTACH='(\{"protocol":"netrpc","version":2,"pid":\d+,"network":"unix","addr":"[^"]+"\})'\n`)

func startDebugged(t *testing.T) *debugged {
	t.Helper()
	cmd := program(t, "bash-plugin", "-debug", "-log-level", "info")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = write, write
	require.NoError(t, cmd.Start())
	write.Close()
	d := &debugged{conversation: converse(t, cmd, read)}
	d.value = d.expectMatch(exportLine)
	d.where.PID = cmd.Process.Pid
	return d
}

// host is host-example with this plugin, not started.
func (d *debugged) host(args ...string) *exec.Cmd {
	cmd := program(d.t, "host-example", args...)
	cmd.Env = append(cmd.Env, host.ReattachName+"="+d.value)
	return cmd
}

// Nobody could find a plugin whose line is lost.
func TestDebuggedPluginEndsWhereItCannotSayWhereItIs(t *testing.T) {
	t.Parallel()
	cmd := program(t, "bash-plugin", "-debug")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = fullDevice(t), &stderr
	require.NoError(t, cmd.Start())
	defer time.AfterFunc(hang, func() { _ = cmd.Process.Kill() }).Stop()
	_ = cmd.Wait()
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Contains(t, stderr.String(), "no space left")
}

// The line is for a shell, whatever the folder's name.
func TestDebuggedPluginQuotesForAShell(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "it's")
	require.NoError(t, err)
	defer os.RemoveAll(folder)
	cmd := program(t, "bash-plugin", "-debug")
	cmd.Env = append(cmd.Env, "TMPDIR="+folder)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
	value, err := exec.Command("sh", "-c", line+`printf %s "$BASH_PLUGIN_REATTACH"`).Output()
	require.NoError(t, err)
	var r host.Reattach
	require.NoError(t, json.Unmarshal(value, &r))
	assert.True(t, strings.HasPrefix(r.Addr, folder+"/"), r.Addr)
}

func TestDebuggedPluginServesHostAfterHost(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	for range 3 {
		cmd := d.host("run", "echo $PPID; pwd; exit 3")
		r := finish(t, cmd)
		assert.Equal(t, ran{strconv.Itoa(d.where.PID) + "\n" + cmd.Dir + "\n", "", 3}, r, "in the host's directory")
		d.expectMatch(regexp.MustCompile(`command: pid=\d+ mode=detach status=failed exit_code=3 duration=\S+\n`))
	}
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	assert.Zero(t, d.wait())
}

// The tour's crash is not for a plugin that somebody is debugging.
func TestDebuggedPluginSurvivesTheDemo(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	r := finish(t, d.host("demo"))
	assert.Zero(t, r.code, r.stderr)
	assert.Contains(t, r.stdout, "Every step was as described")
	assert.Contains(t, r.stdout, "The plugin's crash is left out: BASH_PLUGIN_REATTACH names one")
	assert.NotContains(t, r.stdout, "kill -9")
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	assert.Zero(t, d.wait())
}

func TestDebuggedPluginKeepsJobs(t *testing.T) {
	d := startDebugged(t)
	t.Setenv(host.ReattachName, d.value)
	launch := func() *host.Client {
		client, err := host.Launch(t.Context(), host.LaunchConfig{Path: "/nowhere"})
		require.NoError(t, err)
		return client
	}
	first := launch()
	assert.Equal(t, d.where.PID, first.PluginPID())
	job, err := first.Execute(t.Context(), shared.ExecuteRequest{Command: endless, Mode: shared.ModeBackground})
	require.NoError(t, err)
	require.NoError(t, first.Close())
	_, err = first.Check(t.Context(), shared.CheckRequest{PID: job.PID})
	require.ErrorIs(t, err, shared.ErrClosed)

	second := launch()
	r, err := second.Check(t.Context(), shared.CheckRequest{PID: job.PID})
	require.NoError(t, err)
	assert.Equal(t, shared.StatusRunning, r.Status)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	assert.Zero(t, d.wait())
	gone(t, job.PID)
	sockets, err := filepath.Glob(filepath.Join(programs, "bash-plugin-run-"+strconv.Itoa(d.where.PID)+"-*"))
	require.NoError(t, err)
	assert.Empty(t, sockets)
	for err = shared.ErrCrashed; errors.Is(err, shared.ErrCrashed); { // until its end is seen
		_, err = second.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	}
	require.ErrorIs(t, err, shared.ErrStart)
	assert.ErrorContains(t, err, "no plugin serves where BASH_PLUGIN_REATTACH says")
	require.NoError(t, second.Close())
}

func TestDebuggedPluginEndsTheCallsOfAHostThatIsGone(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	cmd := d.host("run", "echo $$; "+endless)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := converse(t, cmd, stdout.(*os.File))
	pid, err := strconv.Atoi(c.expectMatch(regexp.MustCompile(`(\d+)\n`)))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	gone(t, pid)
	assert.Equal(t, 4, finish(t, d.host("run", "exit 4")).code, "it serves the next one")
}

func TestDebuggedPluginThatIsKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	s := d.host("run", "setsid "+endless+" & echo $!; wait")
	stdout, err := s.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start())
	c := converse(t, s, stdout.(*os.File))
	pid, err := strconv.Atoi(c.expectMatch(regexp.MustCompile(`(\d+)\n`)))
	require.NoError(t, err)
	require.NoError(t, d.cmd.Process.Kill())
	gone(t, pid)
	assert.Equal(t, toolError, c.wait())
	assert.Eventually(t, func() bool {
		left, _ := filepath.Glob(filepath.Join(programs, "bash-plugin-run-"+strconv.Itoa(d.where.PID)+"-*"))
		return len(left) == 0
	}, hang, 2*time.Millisecond)
}

func TestLaunchDoesNotWaitForAPluginThatADebuggerHolds(t *testing.T) {
	d := startDebugged(t)
	t.Setenv(host.ReattachName, d.value)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGSTOP))
	_, err := syscall.Wait4(d.cmd.Process.Pid, nil, syscall.WUNTRACED, nil) // until it has stopped
	require.NoError(t, err)
	_, err = host.Launch(t.Context(), host.LaunchConfig{Path: "/nowhere", StartTimeout: 50 * time.Millisecond})
	require.ErrorIs(t, err, shared.ErrStart)
	assert.ErrorContains(t, err, "does a debugger hold it?")
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	assert.Zero(t, d.wait())
}

func TestReattachSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"nonsense": "is not what bash-plugin -debug prints",
		`{"protocol":"netrpc","version":99,"pid":1,"network":"unix","addr":"/nowhere"}`: "version 99 of the contract",
		`{"protocol":"grpc","version":2,"pid":1,"network":"unix","addr":"/nowhere"}`:    "speaks grpc",
		`{"protocol":"netrpc","version":2,"pid":1,"network":"unix","addr":"/nowhere"}`:  "no plugin serves where",
	} {
		cmd := program(t, "host-example", "run", "true")
		cmd.Env = append(cmd.Env, host.ReattachName+"="+value)
		r := finish(t, cmd)
		assert.Equal(t, toolError, r.code)
		assert.Contains(t, r.stderr, want)
	}
}
