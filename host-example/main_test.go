//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// hang bounds every wait in these tests: only a broken program reaches it.
	hang = time.Minute
	// endless is the sleep of commands that must be ended by somebody.
	endless = "sleep 1000"
)

// programs is the folder with both programs, built from this tree; the socket
// folders of all plugins are in it too.
var programs string

func TestMain(m *testing.M) {
	if file := os.Getenv(sudoEnv); file != "" {
		runSudo(file)
		return
	}
	if kind := os.Getenv(pluginEnv); kind != "" {
		servePlugin(kind)
		return
	}
	os.Exit(testMain(m))
}

// awaitSockets returns what is left of plugins once they had the time to end.
func awaitSockets() []string {
	for until := time.Now().Add(hang); ; time.Sleep(10 * time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(programs, "bash-plugin-run-*"))
		if len(left) == 0 || time.Now().After(until) {
			return left
		}
	}
}

func testMain(m *testing.M) int {
	flag.Parse()
	_ = flag.Set("test.parallel", parallel)
	// Under nohup, or in the background of a script, tests are started with
	// these ignored, and so would the programs be that they send them to.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // the default for what is started
		}
	}
	var err error
	if programs, err = os.MkdirTemp("", "host-example-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	for name, source := range map[string]string{"bash-plugin": "../plugin", "host-example": "."} {
		args := append([]string{"build", "-o", filepath.Join(programs, name)}, buildFlags...)
		if out, err := exec.Command("go", append(args, source)...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	races := filepath.Join(programs, "race")
	os.Setenv("GORACE", "atexit_sleep_ms=0 log_path="+races) // of programs built for it
	code := m.Run()
	reports, _ := filepath.Glob(races + ".*") // a file a process
	for _, report := range reports {
		text, _ := os.ReadFile(report)
		fmt.Fprintf(os.Stderr, "%s\n", text)
		code = 1
	}
	if left := awaitSockets(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "a plugin left its socket behind:", left)
		code = 1
	}
	return code
}

// noteSources looks at what the programs are built from. go test notices which files a
// test looks at, and so does not take a result that it has kept for one of other programs.
var noteSources = sync.OnceValue(func() error {
	for _, folder := range []string{"../plugin", "../shared"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".go" {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
})

// program is host-example or bash-plugin with arguments, not started.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	require.NoError(t, noteSources())
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+programs, "BASH_PLUGIN_REATTACH=")
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = hang
	return cmd
}

// ran is what a program came to.
type ran struct {
	stdout, stderr string
	code           int
}

// hostExample runs host-example to its end.
func hostExample(t *testing.T, args ...string) ran {
	t.Helper()
	return finish(t, program(t, "host-example", args...))
}

func finish(t *testing.T, cmd *exec.Cmd) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	guard := time.AfterFunc(2*hang, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer guard.Stop()
	if err := cmd.Wait(); err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// gate is a FIFO that holds a command up until it is opened.
type gate string

func newGate(t *testing.T) gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return gate(path)
}

// wait is the command that waits for the gate.
func (g gate) wait() string { return "cat " + string(g) }

// open returns when a command waits, and lets it go on.
func (g gate) open(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(string(g), os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// read returns what a command writes to the gate.
func (g gate) read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(string(g))
	require.NoError(t, err)
	return string(text)
}

// pidIn returns the number that is all of text.
func pidIn(t *testing.T, text string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	return pid
}

// awaitPID waits for a file with a number.
func awaitPID(t *testing.T, path string) int {
	t.Helper()
	var text []byte
	require.Eventually(t, func() bool {
		text, _ = os.ReadFile(path)
		return strings.HasSuffix(string(text), "\n")
	}, hang, time.Millisecond)
	return pidIn(t, string(text))
}

// gone waits for the end of a process.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.Positive(t, pid)
	assert.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, hang, 2*time.Millisecond, "process %d goes on", pid)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	r := hostExample(t)
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, "host-example run")
	r = hostExample(t, "-help")
	assert.Zero(t, r.code)
	assert.Contains(t, r.stdout, "host-example mcp")
	r = hostExample(t, "nonsense")
	assert.Equal(t, ran{"", "host-example: unknown command \"nonsense\"; see host-example -help\n", usageError}, r)
	for _, c := range commands() {
		r = hostExample(t, c.name, "-help")
		assert.Zero(t, r.code, c.name)
		assert.Contains(t, r.stdout, "host-example "+c.name)
		assert.Empty(t, r.stderr)
	}
}

func TestAWrongFlagIsOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		want := "host-example: flag provided but not defined: -nonsense; see host-example " + c.name + " -help\n"
		assert.Equal(t, ran{"", want, usageError}, hostExample(t, c.name, "-nonsense"))
		if c.name != "run" {
			want = "host-example: " + c.name + " takes no argument, got \"mode\"; see host-example " + c.name + " -help\n"
			assert.Equal(t, ran{"", want, usageError}, hostExample(t, c.name, "mode"))
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "-version", "--version"} {
		r := hostExample(t, arg)
		assert.Zero(t, r.code)
		assert.Regexp(t, `^host-example \S+ \(contract 2, go`, r.stdout)
	}
}

func TestErrorsNameTheFlag(t *testing.T) {
	t.Parallel()
	slow := filepath.Join(t.TempDir(), "slow")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	for _, args := range [][]string{
		{"-plugin", "/nowhere/plugin"}, {"-plugin", "/"}, {"-dir", "/nowhere"},
		{"-start-timeout", "100ms", "-plugin", slow}, {"-start-timeout", "-1s"}, {"-log-level", "loud"},
		{"-env", "NOVALUE"}, {"-drop-env", "A=b"}, {"-drop-env", "["},
	} {
		r := hostExample(t, append(append([]string{"run"}, args...), "true")...)
		assert.NotZero(t, r.code)
		assert.Contains(t, r.stderr, args[0])
		assert.NotContains(t, r.stderr, "LaunchConfig")
	}
}

// A configuration can hide variables from the commands, give them others, and say where
// their logs are and how long.
func TestEnvironmentAndLogsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	flags := []string{"-env", "GREETING=hello", "-env", "OTHER=a,b", "-env", "KEPT_API_KEY=kept", "-env", "PAGER=less", "-drop-env", "*_API_KEY", "-drop-env", "TOKEN", "-log-dir", logs}
	command := "echo $GREETING $OTHER [$MY_API_KEY$TOKEN] $KEPT_API_KEY $PAGER"
	for name, c := range map[string]struct {
		args  []string
		stdin string
	}{
		"run":  {[]string{command, "; seq 5000"}, ""},
		"repl": {nil, command + "\nseq 5000\n"},
		"mcp":  {nil, initialize + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"command":"` + command + `"}}}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, "host-example", append(append([]string{name}, flags...), c.args...)...)
			cmd.Env = append(cmd.Env, "MY_API_KEY=secret", "TOKEN=secret")
			cmd.Stdin = strings.NewReader(c.stdin)
			r := finish(t, cmd)
			assert.Contains(t, r.stdout, "hello a,b [] kept less", r.stderr)
			assert.NotContains(t, r.stdout, "secret")
		})
	}
	for _, c := range []struct {
		retention string
		kept      int
	}{{"1h", 1}, {"-1s", 0}} {
		dir := t.TempDir()
		r := hostExample(t, "run", "-json", "-log-dir", dir, "-log-retention", c.retention, "seq 5000")
		assert.Contains(t, r.stdout, `"path": "`+dir)
		kept, err := filepath.Glob(filepath.Join(dir, "*", "*.log"))
		require.NoError(t, err)
		assert.Len(t, kept, c.kept, c.retention)
	}
}

func TestErrorsNameTheVariable(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "run", "true")
	cmd.Env = append(cmd.Environ(), "BASH_PLUGIN_LOG_LEVEL=loud")
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "host-example: -log-level (or $BASH_PLUGIN_LOG_LEVEL) is \"loud\": use trace, debug, info, warn, error or off\n", string(text))
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full := fullDevice(t)
	for _, name := range []string{"tools", "mcp", "demo"} {
		cmd := program(t, "host-example", name)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		in, err := cmd.StdinPipe() // stays open: what ends mcp is its output
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, _ = io.WriteString(in, initialize+"\n")
		_ = cmd.Wait()
		assert.Equal(t, 1, cmd.ProcessState.ExitCode(), name)
		assert.Contains(t, stderr.String(), "no space left", name)
	}
}

// fullDevice is a file that takes nothing.
func fullDevice(t *testing.T) *os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here:", err)
	}
	t.Cleanup(func() { full.Close() })
	return full
}

func TestDemoEndsWithASignal(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"3. ", "4. ", "6. "} {
		r := startHost(t, "demo")
		for !strings.HasPrefix(r.line(t), step) {
		}
		require.NoError(t, r.Process.Signal(syscall.SIGTERM))
		go io.Copy(io.Discard, r.stdout)
		assert.Equal(t, 143, r.end(t), step)
		assert.Empty(t, r.stderr.String(), step)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "demo")
	assert.Zero(t, r.code, r.stderr)
	assert.Contains(t, r.stdout, "Every step was as described.")
	assert.Regexp(t, `ended: \d+ .*sleep 1000`, r.stdout)
}
