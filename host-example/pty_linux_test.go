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

// awaitNoPrompt waits until the program does not edit a line: then Ctrl-C is a signal.
func (p *person) awaitNoPrompt() {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		mode, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
		return err == nil && mode.Lflag&unix.ISIG != 0
	}, hang, time.Millisecond)
}

const (
	upKey     = "\x1b[A"
	leftKey   = "\x1b[D"
	ctrlCKey  = "\x03"
	ctrlDKey  = "\x04"
	ctrlRKey  = "\x12"
	ctrlZKey  = "\x1a"
	ruboutKey = "\x7f"
	pasted    = "cat <<-A | tr '\t' %\r\tb\tc\r\tA\r"
)

// sitDownAtRepl starts a repl that keeps its history in a folder.
func sitDownAtRepl(t *testing.T, state string) *person {
	t.Helper()
	cmd := program(t, "host-example", "repl")
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+state)
	return sitDown(t, cmd)
}

func (p *person) leave() int {
	p.t.Helper()
	p.expect("bash> ")
	p.press(ctrlDKey)
	return p.wait()
}

func TestReplAtATerminal(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	p := sitDownAtRepl(t, state)
	p.expect("Ctrl-D leaves.")

	// Live output, and a prompt that begins a line.
	g := newGate(t)
	p.command("echo one; " + g.wait() + "; printf two")
	p.expect("one\r\n")
	g.open(t)
	p.expect("two")
	assert.True(t, strings.HasSuffix(p.expect("bash> "), strings.Repeat(" ", 199)+"\r"), "into the next line and back to its beginning")
	p.press("echo 語😀 é" + leftKey + ruboutKey + "\r")
	p.expectMatch(regexp.MustCompile(`\n( \x08)?語😀é\r\n`))

	// Lines of a command; tabs in what is pasted; a command that is given up.
	p.expect("bash> ")
	p.press(pasted)
	p.expect("b%c\r\n")
	p.command("echo 'open")
	p.expect("> ")
	p.press("rm -rf" + ctrlCKey)
	p.expect("^C")
	p.expect("bash> ")
	p.press("exit 99" + ctrlCKey)
	p.expect("^C")

	// Ctrl-C ends the command, not the host.
	p.command("echo $$; " + endless)
	pid := p.expectMatch(regexp.MustCompile(`(\d+)\r\n`))
	p.press(ctrlCKey)
	p.expect("[killed, exit code 130 (SIGINT), ")
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	gone(t, number)

	// Ctrl-Z lets it go on; at the prompt it does nothing.
	p.command("echo up; " + endless)
	p.expect("up\r\n")
	p.press(ctrlZKey)
	job := p.expectMatch(jobLine)
	p.command(ctrlZKey + ":jobs")
	p.expectMatch(regexp.MustCompile(job + ` +(running)`))
	p.command(":wait " + job)
	p.awaitNoPrompt()
	p.press(ctrlCKey)
	p.expect("[job " + job + ": running, ")
	assert.Equal(t, 130, p.leave())
	mode, err := term.GetState(int(p.terminal.Fd()))
	require.NoError(t, err)
	assert.Equal(t, p.mode, mode, "the terminal is as it was")
	number, err = strconv.Atoi(job)
	require.NoError(t, err)
	gone(t, number)
}

func TestReplHistory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	p := sitDownAtRepl(t, state)
	p.command("echo first $((1+1))")
	p.expect("first 2\r\n")
	p.command("echo second")
	p.expect("second\r\n")
	p.expect("bash> ")
	p.press(upKey + upKey + "0\r")
	p.expect("first 20\r\n")
	assert.Zero(t, p.leave())

	p = sitDownAtRepl(t, state)
	p.expect("bash> ")
	p.press(upKey + "\r")
	p.expect("first 20\r\n")
	p.expect("bash> ")
	p.press(ctrlRKey + "sec\r")
	p.expectMatch(regexp.MustCompile(`\n( \x08)?second\r\n`))
	assert.Zero(t, p.leave())
	info, err := os.Stat(filepath.Join(state, "bashplugin", "history"))
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())
}

func TestReplAtATerminalEndsWithASignal(t *testing.T) {
	t.Parallel()
	p := sitDownAtRepl(t, t.TempDir())
	p.expect("bash> ")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 143, p.wait())
	mode, err := term.GetState(int(p.terminal.Fd()))
	require.NoError(t, err)
	assert.Equal(t, p.mode, mode, "the terminal is as it was")
}

func TestAStartIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow, started := filepath.Join(dir, "slow"), filepath.Join(dir, "started")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\necho $$ >"+started+"\nexec sleep 1000\n"), 0o700))
	p := sitDown(t, program(t, "host-example", "repl", "-plugin", slow, "-start-timeout", "1h"))
	pid := awaitPID(t, started)
	p.press(ctrlCKey)
	assert.Equal(t, 130, p.wait())
	gone(t, pid)
}

// A person who is done with a flood sees the prompt, however much of it is on
// its way.
func TestAPersonIsDoneWithAFlood(t *testing.T) {
	t.Parallel()
	p := sitDownAtRepl(t, t.TempDir())
	flood := func(key string) {
		g := newGate(t)
		p.command("yes | head -c 12000000; echo x >" + string(g) + "; yes flood")
		g.read(t) // far more is on its way than the terminal takes
		p.press(key)
	}
	flood(ctrlZKey)
	p.expectMatch(jobLine)
	p.command(":kill all")
	p.expect("killed")
	flood(ctrlCKey)
	p.expect("[killed, exit code 130 (SIGINT), ")
	assert.Equal(t, 130, p.leave())
}

func TestReplAtATerminalWithOtherPlugins(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"strict", "lenient"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := sitDown(t, withPlugin(t, kind, "repl"))
			p.command("echo hello")
			p.expect("hello\r\n")
			p.command("echo $$ >pid; exec " + endless)
			pid := awaitPID(t, filepath.Join(p.cmd.Dir, "pid"))
			p.press(ctrlCKey)
			p.expect("[killed (cancel), exit code 137, ")
			gone(t, pid)
			assert.Equal(t, 137, p.leave())
		})
	}
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

func TestReplAttachesAPersonToATerminal(t *testing.T) {
	t.Parallel()
	p := sitDownAtRepl(t, t.TempDir())
	p.command("!stty size; read -rp 'name? ' name; echo hello $name; exit 4")
	p.expect("40 200\r\n")
	p.expect("name? ")
	p.press("Ann\r")
	p.expect("hello Ann\r\n")
	p.expect("[failed, exit code 4, ")

	p.command("!echo started; exec cat")
	p.expect("started\r\n")
	p.press("one\r")
	p.expect("one\r\none\r\n")
	p.press("\x1d") // Ctrl-]
	job := p.expectMatch(regexp.MustCompile(`\[job (\d+) goes on in the background`))
	p.command(":attach " + job)
	p.expect("\x1b[2J\x1b[Hstarted\r\none\r\none")
	p.press("two\r")
	p.expect("two\r\ntwo\r\n")
	p.press(ctrlCKey)
	p.expect("[failed, exit code 130 (SIGINT), ")
	p.command(":attach 1")
	p.expect("error: job 1 has no terminal here: start one by !COMMAND")
	p.leave()
	mode, err := term.GetState(int(p.terminal.Fd()))
	require.NoError(t, err)
	assert.Equal(t, p.mode, mode, "the terminal is as it was")
	assert.Contains(t, finish(t, withInput(program(t, "host-example", "repl"), "!true\n! true\n")).stderr, "a command with ! needs a terminal")
}

func withInput(cmd *exec.Cmd, text string) *exec.Cmd {
	cmd.Stdin = strings.NewReader(text)
	return cmd
}
