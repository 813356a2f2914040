//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
)

func TestRunIsLikeTheCommand(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", "--", "echo out; echo err >&2; exit 3")
	assert.Equal(t, ran{"out\n", "err\n", 3}, r)
	r = hostExample(t, "run", "-merge", "echo out; echo err >&2")
	assert.Equal(t, ran{"out\nerr\n", "", 0}, r)
	both, err := program(t, "host-example", "run", "for i in {1..100}; do echo out $i; echo err $i >&2; done").CombinedOutput()
	require.NoError(t, err)
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i+1, i+1)
	}
	assert.Equal(t, want.String(), string(both), "in the order written where both go to the same place")
	r = hostExample(t, "run", "kill -KILL $$")
	assert.Equal(t, 137, r.code)
	r = hostExample(t, "run", `printf '\033[1mraw\033[0m\r\n\377'`)
	assert.Equal(t, "\x1b[1mraw\x1b[0m\r\n\xff", r.stdout, "the bytes as they are")
}

func TestRunWithoutACommand(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, "there is no COMMAND")
	r = hostExample(t, "run", "-mode", "nonsense", "true")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, `-mode is "nonsense": use one of detach, terminate, background, auto`)
	r = hostExample(t, "run", "-plugin", "/nowhere/plugin", "-mode", "nonsense", "true")
	assert.Equal(t, usageError, r.code, "before the plugin starts")
	r = hostExample(t, "run", "-plugin", "/nowhere/plugin", "-timeout", "-5s", "true")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, "-timeout is -5s: use 0 for the default")
	r = hostExample(t, "run", "-plugin", "/nowhere/plugin", "true")
	assert.Equal(t, toolError, r.code)
	assert.Contains(t, r.stderr, "-plugin: there is no plugin at /nowhere/plugin")
}

// running is host-example under way, with its stdout.
type running struct {
	*exec.Cmd
	stdout *bufio.Reader
	pipe   *os.File
	stderr bytes.Buffer
}

func startHost(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{Cmd: program(t, "host-example", args...)}
	r.Stderr = &r.stderr
	read, write, err := os.Pipe()
	require.NoError(t, err)
	r.pipe, r.stdout, r.Stdout = read, bufio.NewReader(read), write
	require.NoError(t, r.Start())
	write.Close()
	t.Cleanup(func() { read.Close() })
	return r
}

func (r *running) line(t *testing.T) string {
	t.Helper()
	require.NoError(t, r.pipe.SetReadDeadline(time.Now().Add(hang)))
	line, err := r.stdout.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\n")
}

// end returns the exit code.
func (r *running) end(t *testing.T) int {
	t.Helper()
	_ = r.Wait()
	return r.ProcessState.ExitCode()
}

func TestRunShowsOutputAsItComes(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	r := startHost(t, "run", "echo before; "+g.wait()+"; echo after")
	assert.Equal(t, "before", r.line(t))
	g.open(t)
	assert.Equal(t, "after", r.line(t))
	assert.Zero(t, r.end(t))
}

func TestRunLosesNothing(t *testing.T) {
	t.Parallel()
	t.Run("of a flood", func(t *testing.T) {
		r := hostExample(t, "run", "seq 1 1000000")
		assert.Equal(t, 1000000, strings.Count(r.stdout, "\n"))
		assert.True(t, strings.HasSuffix(r.stdout, "\n999999\n1000000\n"))
	})
	t.Run("for a reader who begins after the end", func(t *testing.T) {
		done := filepath.Join(t.TempDir(), "done")
		r := startHost(t, "run", "seq 1 300000; touch "+done)
		require.Eventually(t, func() bool { _, err := os.Stat(done); return err == nil }, hang, time.Millisecond)
		ended := make(chan int, 1)
		go func() { ended <- r.end(t) }()
		select {
		case <-ended:
			t.Fatal("it did not wait for its reader")
		case <-time.After(300 * time.Millisecond): // longer than a Result waits for a slow writer
		}
		text, err := io.ReadAll(r.stdout)
		require.NoError(t, err)
		assert.Equal(t, 300000, bytes.Count(text, []byte("\n")))
		assert.Zero(t, <-ended)
	})
}

func TestRunEndsWithItsReader(t *testing.T) {
	t.Parallel()
	r := startHost(t, "run", "echo $$; seq 1 100000000")
	pid := pidIn(t, r.line(t))
	r.pipe.Close()
	r.end(t)
	assert.Equal(t, syscall.SIGPIPE, r.ProcessState.Sys().(syscall.WaitStatus).Signal(), "as in a shell's pipeline")
	gone(t, pid)
	assert.Empty(t, r.stderr.String())
}

func TestRunPassesASignalOn(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		r := startHost(t, "run", "setsid "+endless+" & echo $!; wait")
		child := pidIn(t, r.line(t))
		require.NoError(t, r.Process.Signal(sig))
		assert.Equal(t, 128+int(sig), r.end(t), sig)
		gone(t, child)
		assert.Empty(t, r.stderr.String())
	}
}

func TestRunTellsOfADetach(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	r := startHost(t, "run", "-timeout", "50ms", "echo $$; "+g.wait()+"; echo after; exit 4")
	pid := r.line(t)
	g.open(t)
	assert.Equal(t, "after", r.line(t))
	assert.Equal(t, 4, r.end(t))
	if r.stderr.Len() > 0 { // the command was slower than the timeout
		for _, want := range []string{"as job " + pid, "tail -f /", "ps -o", "kill -TERM -- -" + pid} {
			assert.Contains(t, r.stderr.String(), want)
		}
	}
}

func TestRunKillsADetachedJobWithASignal(t *testing.T) {
	t.Parallel()
	r := startHost(t, "run", "-mode", "background", "echo $$; "+endless)
	pid := pidIn(t, r.line(t))
	require.NoError(t, r.Process.Signal(os.Interrupt))
	assert.Equal(t, 130, r.end(t))
	gone(t, pid)
	assert.Contains(t, r.stderr.String(), "as job "+strconv.Itoa(pid))
}

func TestRunTellsOfATimeout(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", "-mode", "terminate", "-timeout", "2s", "echo before; "+endless)
	assert.Equal(t, 143, r.code)
	assert.Equal(t, "before\n", r.stdout)
	assert.Contains(t, r.stderr, "[killed at the timeout, after ")
}

func TestRunEndsWhatTheCommandLeaves(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", endless+" & echo $!; exit 5")
	assert.Equal(t, 5, r.code)
	gone(t, pidIn(t, r.stdout))
	assert.Contains(t, r.stderr, endless)
}

func TestRunJSON(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", "-json", "echo out; echo err >&2; exit 3")
	assert.Equal(t, 3, r.code)
	var result shared.Result
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &result))
	assert.Equal(t, shared.StatusFailed, result.Status)
	assert.Equal(t, "out\n", result.Stdout.Content)
	assert.Equal(t, "err\n", result.Stderr.Content)
}

// Programs read names in snake_case, milliseconds, and text without HTML escapes.
func TestRunJSONIsForPrograms(t *testing.T) {
	t.Parallel()
	var fields struct {
		ExitCode   *int   `json:"exit_code"`
		DurationMS int    `json:"duration_ms"`
		Command    string `json:"command"`
	}
	r := hostExample(t, "run", "-json", "echo '<a & b>'; sleep 0.1")
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &fields))
	assert.Zero(t, *fields.ExitCode)
	assert.GreaterOrEqual(t, fields.DurationMS, 100)
	assert.Contains(t, r.stdout, `"content": "<a & b>\n"`)
}

func TestRunJSONTellsTheEndOfAJob(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	r := startHost(t, "run", "-json", "-mode", "background", "echo before; "+g.wait()+"; echo after; exit 4")
	g.open(t)
	text, err := io.ReadAll(r.stdout)
	require.NoError(t, err)
	assert.Equal(t, 4, r.end(t))
	var result shared.Result
	require.NoError(t, json.Unmarshal(text, &result))
	assert.Equal(t, shared.StatusFailed, result.Status)
	assert.Equal(t, "before\nafter\n", result.Stdout.Content)
	assert.Contains(t, r.stderr.String(), "the Result comes at its end")
}

func TestRunJSONEndsWithASignal(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"detach", "background"} {
		g := newGate(t)
		r := startHost(t, "run", "-json", "-mode", mode, "echo $$ >"+string(g)+"; "+endless)
		pid := pidIn(t, g.read(t))
		require.NoError(t, r.Process.Signal(os.Interrupt))
		var result shared.Result
		require.NoError(t, json.NewDecoder(r.stdout).Decode(&result))
		assert.Equal(t, shared.StatusKilled, result.Status)
		assert.Equal(t, 130, r.end(t), mode)
		gone(t, pid)
	}
}

func TestRunLeavesNothingOut(t *testing.T) {
	t.Parallel()
	const size = 40_000_000
	r := hostExample(t, "run", fmt.Sprintf("head -c %d /dev/zero", size))
	assert.Zero(t, r.code)
	assert.Empty(t, r.stderr)
	assert.True(t, r.stdout == strings.Repeat("\x00", size))
}

// A client may start a server with next to no environment.
func TestHostWithoutAPath(t *testing.T) {
	t.Parallel()
	without := []string{"TMPDIR=" + programs}
	cmd := program(t, "host-example", "run", "ls -d /; tr a b <<<a")
	cmd.Env = without
	assert.Equal(t, ran{"/\nb\n", "", 0}, finish(t, cmd))
	cmd = program(t, "host-example", "repl")
	cmd.Env = without
	cmd.Stdin = strings.NewReader("cat <<E\necho\nE\n")
	assert.Equal(t, ran{"echo\n", "", 0}, finish(t, cmd))
	cmd = program(t, "host-example", "run", "true")
	cmd.Env = append(without, "PATH=/nowhere")
	assert.Contains(t, finish(t, cmd).stderr, "cannot find bash in PATH (/nowhere)")
}

// A job does not wait for its reader.
func TestRunTellsOfSkippedBytes(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	r := startHost(t, "run", "-mode", "background", "head -c 50000000 /dev/zero | tr '\\0' x; echo x >"+string(g))
	g.read(t) // so far nobody takes anything
	text, err := io.ReadAll(r.stdout)
	require.NoError(t, err)
	assert.Zero(t, r.end(t))
	match := regexp.MustCompile(`(?m)^\[(\d+) bytes were skipped above; the whole output as text: (/.+)\]$`).FindStringSubmatch(r.stderr.String())
	require.Len(t, match, 3, r.stderr.String())
	skipped, err := strconv.Atoi(match[1])
	require.NoError(t, err)
	assert.Equal(t, 50_000_000, bytes.Count(text, []byte("x"))+skipped)
	assert.FileExists(t, match[2])
}

func TestRunLeavesNoLogThatNobodyKnowsOf(t *testing.T) {
	t.Parallel()
	logs := func(args ...string) []string {
		dir, err := os.MkdirTemp(programs, "") // not long: sockets are in it
		require.NoError(t, err)
		cmd := program(t, "host-example", append([]string{"run"}, args...)...)
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
		assert.Zero(t, finish(t, cmd).code)
		found, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.log"))
		require.NoError(t, err)
		return found
	}
	assert.Empty(t, logs("seq 100000; seq 100000 >&2"))
	assert.Len(t, logs("-json", "seq 100000"), 1)
	assert.Len(t, logs("-timeout", "10ms", "sleep 0.2"), 2)
}

func TestRunQuotesPathsForAShell(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp(programs, "it's here")
	require.NoError(t, err)
	cmd := program(t, "host-example", "run", "-mode", "background", "sleep 0.3")
	cmd.Env = append(cmd.Env, "TMPDIR="+folder)
	r := finish(t, cmd)
	assert.Contains(t, r.stderr, `tail -f "`+programs+`/it's here`)
}

// A reader that does not read, such as a stopped pager, does not hold up the end.
func TestRunEndsWithASignalWhereItsReaderIsStuck(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	r := startHost(t, "run", "head -c 1000000 /dev/zero; echo $$ >"+string(g)+"; "+endless)
	pid := pidIn(t, g.read(t))
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	defer time.AfterFunc(hang, func() { _ = r.Process.Kill() }).Stop()
	assert.Equal(t, 143, r.end(t))
	gone(t, pid)
}

func TestRunSaysWhyThereIsNothingToFollow(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(temp, fmt.Sprintf("bash-plugin-%d", os.Getuid())), nil, 0o600))
	cmd := program(t, "host-example", "run", "-mode", "background", "sleep 0.3")
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	assert.Regexp(t, `\[follow: no log: open .+: not a directory\]`, finish(t, cmd).stderr)
}

func TestPathsAreAbsolute(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "run", "-dir", "/", "-json", "seq 5000")
	cmd.Env = append(cmd.Env, "TMPDIR=relative")
	require.NoError(t, os.Mkdir(filepath.Join(cmd.Dir, "relative"), 0o700))
	var result shared.Result
	require.NoError(t, json.Unmarshal([]byte(finish(t, cmd).stdout), &result))
	assert.True(t, strings.HasPrefix(result.Stdout.Path, cmd.Dir+"/relative/"), result.Stdout.Path)
}

// Who starts this program with a signal ignored, as nohup does, means it: for
// the program and its plugin, not for the commands.
func TestRunUnderNohup(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	cmd := program(t, "host-example", "run", "trap 'echo hung up' HUP; kill -HUP $$; echo $PPID >"+string(g)+"; "+g.wait()+"; echo done")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	var stdout strings.Builder
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Start())
	plugin := pidIn(t, g.read(t))
	for _, pid := range []int{cmd.Process.Pid, plugin} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
	}
	g.open(t)
	require.NoError(t, cmd.Wait())
	assert.Equal(t, "hung up\ndone\n", stdout.String())
}

func TestAPlainRunLogsNoError(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", "-log-level", "trace", "echo done")
	assert.Equal(t, "done\n", r.stdout)
	assert.Contains(t, r.stderr, "command:")
	assert.NotRegexp(t, `failed|error=`, r.stderr)
}

func TestEveryCommandIsLoggedWithoutItsOutput(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", "-log-level", "info", "-mode", "terminate", "echo $$; echo secret >&2; exit 3")
	assert.Equal(t, 3, r.code)
	var logged string
	for line := range strings.Lines(strings.ReplaceAll(r.stderr, "secret\n", "")) {
		if strings.Contains(line, ": command: ") {
			logged += line
		}
	}
	for _, want := range []string{"pid=" + strings.TrimSpace(r.stdout), "mode=terminate", "status=failed", "exit_code=3", "duration="} {
		assert.Contains(t, logged, want)
	}
	assert.NotContains(t, logged, "secret")
	assert.Equal(t, 1, strings.Count(logged, "\n"))
}

// Whatever was under way when the plugin died, what shows on the terminal is
// the command's output and one line about it.
func TestRunSaysInOneLineThatThePluginDied(t *testing.T) {
	t.Parallel()
	for range 5 {
		r := hostExample(t, "run", "yes & echo begun >&2; kill -9 $PPID; wait")
		assert.Equal(t, toolError, r.code)
		assert.Regexp(t, `^host-example: the plugin is gone: its connection ended; .*what was logged is in \S+\n$`, strings.TrimPrefix(r.stderr, "begun\n"))
	}
}
