package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMCPEndsAlthoughNobodyReads(t *testing.T) {
	t.Parallel()
	l, g := talk(t), newGate(t)
	l.run(1, "echo $$ >"+string(g)+"; "+endless)
	pid := pidIn(t, g.read(t))
	for id := range 12 {
		l.run(id+2, "seq -f %09g 5000")
	}
	pipe, err := os.Open("/proc/" + strconv.Itoa(l.cmd.Process.Pid) + "/fd/1")
	require.NoError(t, err)
	defer pipe.Close()
	require.Eventually(t, func() bool {
		n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
		return err == nil && n >= 60<<10 // of 64 KiB: the next answer waits
	}, hang, time.Millisecond)
	l.in.Close()
	assert.Zero(t, l.end())
	gone(t, pid)
}

// A model learns how it is confined before it runs anything, and again when something was refused,
// also if the command did not fail.
func TestMCPTellsHowCommandsAreConfined(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := connect(t, nil, "-writable", dir, "-no-network")
	said := "it may write below " + dir + ", $TMPDIR; network: none"
	instructions := s.InitializeResult().Instructions
	if strings.Contains(instructions, "cannot keep") || !strings.Contains(instructions, "confined") {
		t.Skip("this system cannot confine commands: ", instructions)
	}
	assert.Contains(t, instructions, said)
	listed, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, d := range listed.Tools {
		assert.Equal(t, d.Name == "bash", strings.Contains(d.Description, said), d.Name)
	}
	assert.NotContains(t, textOf(t, call(t, s, "echo fine")), "confined")
	for command, want := range map[string]string{
		"echo x >/etc/x; true": "[This command ran confined: " + said + ".]",
		"getent hosts x.invalid; echo curl: Could not resolve host": "[This command ran confined: " + said + ".]",
		"kill " + strconv.Itoa(os.Getpid()) + "; true":              "[This command ran confined: " + said + ". bash_kill ends what other calls have started.]",
	} {
		assert.Contains(t, textOf(t, call(t, s, command)), want, command)
	}
	free := connect(t, nil)
	assert.NotContains(t, free.InitializeResult().Instructions, "confined")
}

// Errors name the arguments of the tool that was called, not the fields of the contract.
func TestMCPErrorsAreInTheWordsOfTheTool(t *testing.T) {
	t.Parallel()
	s := connect(t, nil, "-structured")
	answer := func(name string, arguments map[string]any) structuredContent {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		return fields(t, r)
	}
	job := answer("bash", map[string]any{"command": endless, "background": true})
	assert.Equal(t, "INVALID_REQUEST: input cannot be written: the job has no stdin: start the command with one, by tty",
		answer("bash_input", map[string]any{"id": job.ID, "input": "x"}).Text)
	assert.Regexp(t, `^INVALID_REQUEST: dir "/nope/Input" cannot be used: `, answer("bash", map[string]any{"command": "x", "dir": "/nope/Input"}).Text)
	job = answer("bash", map[string]any{"command": endless, "background": true, "input": "x"})
	answer("bash_input", map[string]any{"id": job.ID, "close_input": true})
	assert.Equal(t, "INVALID_REQUEST: input cannot be written: stdin was closed by close_input",
		answer("bash_input", map[string]any{"id": job.ID, "input": "x"}).Text)

	s = connect(t, nil, "-dialect", "codex", "-structured")
	job = answer("exec_command", map[string]any{"cmd": endless, "yield_time_ms": 1})
	assert.Equal(t, "write_stdin failed: chars cannot be written: the job has no stdin: start the command with one, by tty",
		answer("write_stdin", map[string]any{"session_id": job.PID, "chars": "x"}).Text)
}

// Claude Code hides tools without this behind a search.
func TestMCPKeepsItsFirstToolInView(t *testing.T) {
	t.Parallel()
	listed, err := connect(t, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, d := range listed.Tools {
		assert.Equal(t, d.Name == "bash", d.Meta["anthropic/alwaysLoad"] == true, d.Name)
	}
}
