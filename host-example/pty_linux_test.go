package main

import (
	"fmt"
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
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// person is somebody at a terminal in which a program runs.
type person struct {
	*conversation
	keyboard *os.File
	terminal *os.File    // the program's end
	mode     *term.State // of the terminal, before the program started
}

// sitDown starts a program in a terminal of its own.
func sitDown(t *testing.T, cmd *exec.Cmd) *person {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	control, err := keyboard.SyscallConn() // Fd would make it deaf to deadlines
	require.NoError(t, err)
	var number int
	require.NoError(t, control.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 200})
		}
	}))
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { terminal.Close() })
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(cmd.Env, "TERM=xterm")
	mode, err := term.GetState(int(terminal.Fd()))
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &person{converse(t, cmd, keyboard), keyboard, terminal, mode}
}

func (p *person) press(keys string) {
	p.t.Helper()
	_, err := p.keyboard.WriteString(keys)
	require.NoError(p.t, err)
}

// type presses the keys of a command and enter, at the prompt.
func (p *person) command(line string) {
	p.t.Helper()
	p.expect("bash> ")
	p.press(line + "\r")
	p.expect("\r\n")
}

const (
	upKey     = "\x1b[A"
	ctrlCKey  = "\x03"
	ctrlDKey  = "\x04"
	ctrlUKey  = "\x15"
	ctrlZKey  = "\x1a"
	ruboutKey = "\x7f"
)

func TestReplAtATerminal(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "repl"))
	p.expect("Ctrl-D leaves.")

	// Live output, and history.
	p.command("echo one; printf two")
	p.expect("one\r\ntwo\r\n")
	p.expect("bash> ")
	p.press(upKey)
	p.expect("echo one; printf two")
	p.press("X" + ruboutKey + "\r")
	p.expect("one\r\ntwo\r\n")

	// An indicator, when the command is silent.
	p.command("echo $$; " + endless)
	pid := p.expectMatch(regexp.MustCompile(`(\d+)\r\n`))
	p.expectMatch(regexp.MustCompile(`\[[1-9]\d*s, \d+ B, \d+ B/s\]`))

	// Ctrl-C ends the command, not the host; at the prompt it clears the line.
	p.press(ctrlCKey)
	p.expect("[killed, exit code 130 (SIGINT), ")
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	gone(t, number)
	p.expect("bash> ")
	p.press("exit 99" + ctrlCKey)

	// A command of two lines, and one that is given up within.
	p.command("cat <<EOF")
	p.expect("> ")
	p.press("not $((2*21))\r" + "EOF\r")
	p.expect("not 42\r\n")
	p.command("cat <<EOF")
	p.expect("> ")
	p.press("rm -rf" + ctrlCKey)
	p.command("echo 'open")
	p.expect("> ")
	p.press(ctrlDKey)

	// Two ways to detach.
	p.command("echo up; " + endless)
	p.expect("up\r\n")
	p.press(ctrlZKey)
	first := p.expectMatch(jobLine)
	p.command("echo up; " + endless)
	p.expect("up\r\n")
	p.press(":detaXch" + strings.Repeat(ruboutKey, 3) + "ch\r")
	second := p.expectMatch(jobLine)
	p.command(":jobs")
	p.expect(first + "  running")
	p.expect(second + "  running")
	p.command(":wait " + first)
	p.press(ctrlCKey)
	p.expect("[job " + first + ": running, ")

	// What is typed ahead is the next line.
	g := newGate(t)
	p.command("echo ready; " + g.wait())
	p.expect("ready\r\n")
	p.press("echo typed ahead\r")
	g.open(t)
	p.expect("bash> echo typed ahead\r\ntyped ahead\r\n")

	p.expect("bash> ")
	p.press(ctrlDKey)
	assert.Zero(t, p.wait())
	mode, err := term.GetState(int(p.terminal.Fd()))
	require.NoError(t, err)
	assert.Equal(t, p.mode, mode, "the terminal is as it was")
	for _, job := range []string{first, second} {
		number, err := strconv.Atoi(job)
		require.NoError(t, err)
		gone(t, number)
	}
}

func TestTypingWhileACommandRuns(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "repl"))
	g := newGate(t)
	p.command("echo ready; " + g.wait())
	p.expect("ready\r\n")
	p.press("ab\x1b[C\x1b[1;5D\x1bOP\x01\u009bc")
	p.expect("B/s]\x1b[m abc")
	p.press(ctrlUKey + strings.Repeat("wide", 100))
	line := p.expectMatch(regexp.MustCompile(`(\[\d+s, \d+ B, \d+ B/s\]\x1b\[m …[wide]+)`))
	assert.Less(t, len([]rune(line))-len("\x1b[m"), 200, "the terminal's width")
	p.press(ctrlUKey + "echo again")
	p.expect("B/s]\x1b[m echo again")
	p.press("\r")
	g.open(t)
	p.expect("bash> echo again\r\nagain\r\n")

	p.command("printf 'Password: '; " + g.wait())
	p.expect("Password: ")
	before := p.expect("s, 10 B, ")
	assert.True(t, strings.HasPrefix(before, "\n\x1b[A\x1b7\r\n\x1b[0;2m["), "%q: in a line of its own", before)
	g.open(t)
	p.expect("\r\x1b[K\x1b8\r\n")

	p.command("echo up; exec sleep 1000")
	p.expect("up\r\n")
	p.press(ctrlZKey)
	pid := p.expectMatch(jobLine)
	p.command(":wait " + pid)
	p.expectMatch(regexp.MustCompile(`\x1b\[0;2m(\[\d+s\])\x1b\[m`)) // nobody knows its output
	p.press(ctrlCKey)
	p.command(":dialect check-pid")
	p.expect("bash (check-pid)> ")
	p.press("echo counted; " + g.wait() + "\r")
	p.press(ctrlZKey)
	p.expect("cannot be detached")
	p.expect("s, 8 B, ") // of the command alone
	g.open(t)
	p.expect("bash (check-pid)> ")
	p.press(ctrlDKey)
	assert.Zero(t, p.wait())
}

func TestAStartIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow, started := filepath.Join(dir, "slow"), filepath.Join(dir, "started")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\n: >"+started+"\nexec sleep 1000\n"), 0o700))
	p := sitDown(t, program(t, "host-example", "repl", "-plugin", slow, "-start-timeout", "1h"))
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, hang, time.Millisecond)
	p.press("echo " + ctrlCKey)
	assert.Equal(t, 130, p.wait())
}

// What the line editor does with keys that it does not know, or has no room
// for, must not end up in a command.
func TestWhatIsShownIsWhatRuns(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "repl"))
	p.expect("bash> ")
	p.press("echo wrong\x1b" + ctrlCKey)
	p.command("echo right")
	p.expect("right\r\n")
	p.expect("bash> ")
	p.press("\x1b" + strings.Repeat("1234567890", 100) + ctrlCKey)
	p.press("cat <<-A | tr '\t' %\r\tb\tc\r\tA\r") // tabs are tabs
	p.expect("b%c\r\n")
	p.command("printf '<%s>' a\tb")
	p.expect("<a><b>\r\n")
	p.command("echo cut " + strings.Repeat("x", editorRoom) + "; echo more")
	p.expect("error: a line that is typed may have at most 4095 characters: nothing was run")
	p.expect("bash> ")
	p.press(upKey + "\r") // the long line is not among the history
	p.expect("<a><b>\r\n")
	p.expect("bash> ")
	p.press(ctrlDKey)
	assert.Zero(t, p.wait())
}

// A person who is done with a flood sees the prompt, however much of it is on
// its way, and is told where the rest is.
func TestAPersonIsDoneWithAFlood(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "repl"))
	flood := func(key string) {
		g := newGate(t)
		p.command("yes | head -c 100000000; echo x >" + string(g) + "; yes flood")
		g.read(t) // far more is on its way than the terminal takes
		p.press(key)
		log := p.expectMatch(regexp.MustCompile(`\[the output above is not complete; the whole output as text: (/.+)\]\r\n`))
		info, err := os.Stat(log)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, info.Size(), int64(100_000_000))
	}
	flood(ctrlZKey)
	p.expectMatch(jobLine)
	p.command(":kill all")
	p.expect("killed")
	flood(ctrlCKey)
	p.expect("[killed, exit code 130 (SIGINT), ")
	p.expect("bash> ")
	p.press(ctrlDKey)
	assert.Equal(t, 130, p.wait())
}

// The shell has the terminal while this program is stopped, and gives it back in
// a mode of its own.
func TestReplTakesTheTerminalBack(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "repl"))
	p.expect("bash> ")
	mode := func() *term.State {
		state, err := term.GetState(int(p.terminal.Fd()))
		require.NoError(t, err)
		return state
	}
	raw := mode()
	require.NotEqual(t, p.mode, raw)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, term.Restore(int(p.terminal.Fd()), p.mode))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	for until := time.Now().Add(hang); !assert.ObjectsAreEqual(raw, mode()) && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	assert.Equal(t, raw, mode())
	p.press(ctrlDKey)
	assert.Zero(t, p.wait())
}

// A log on the terminal goes above the prompt, and between a command's lines.
func TestTheLogAtATerminal(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "repl", "-log-level", "info"))
	p.command("printf unfinished")
	p.expectMatch(regexp.MustCompile(`(?s)(unfinished.*\[INFO\]|\[INFO\].*unfinished)`)) // whichever is first
	p.expect("bash> ")
	p.press(ctrlDKey)
	assert.Zero(t, p.wait())

	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd := program(t, "host-example", "repl", "-log-level", "info")
	cmd.Args = append([]string{"sh", "-c", `exec "$@" 2>"$0"`, log.Name()}, append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = "/bin/sh"
	p = sitDown(t, cmd)
	p.command("echo hello")
	before := p.expect("bash> ")
	assert.NotContains(t, before, "INFO")
	p.press(ctrlDKey)
	assert.Zero(t, p.wait())
	text, err := os.ReadFile(log.Name())
	require.NoError(t, err)
	assert.Contains(t, string(text), "[INFO]")
}

func TestRunAtATerminal(t *testing.T) {
	t.Parallel()
	p := sitDown(t, program(t, "host-example", "run", "test -t 1 || echo no terminal; tty </dev/tty || echo none; echo $$; "+endless))
	p.expect("no terminal\r\n")
	p.expect("none\r\n")
	pid := p.expectMatch(regexp.MustCompile(`(\d+)\r\n`))
	p.press(ctrlCKey)
	assert.Equal(t, 130, p.wait())
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	gone(t, number)
}
