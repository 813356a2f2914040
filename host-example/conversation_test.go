//go:build unix

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slow matches what the repl says about a command that takes over a second, as any may on
// a busy machine.
var slow = regexp.MustCompile(`(?m)^\[used [0-9.hms]+ of processor time[^\r\n]*\]\r?\n`)

// conversation reads what a program says, as far as a test expects it.
type conversation struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *os.File
	seen string // since the last match
}

// converse takes a program that was started and the end that it writes to.
func converse(t *testing.T, cmd *exec.Cmd, out *os.File) *conversation {
	t.Helper()
	c := &conversation{t: t, cmd: cmd, out: out}
	t.Cleanup(func() {
		out.Close()
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return c
}

// expect reads on until text comes, and returns what came before it.
func (c *conversation) expect(text string) string {
	c.t.Helper()
	c.readUntil(func(seen string) bool { return strings.Contains(seen, text) }, text)
	before, rest, _ := strings.Cut(c.seen, text)
	c.seen = rest
	return before
}

// expectMatch reads on until re matches, and returns its group.
func (c *conversation) expectMatch(re *regexp.Regexp) string {
	c.t.Helper()
	c.readUntil(re.MatchString, re.String())
	at := re.FindStringIndex(c.seen)
	groups := re.FindStringSubmatch(c.seen)
	c.seen = c.seen[at[1]:]
	return groups[len(groups)-1]
}

func (c *conversation) readUntil(done func(string) bool, what string) {
	c.t.Helper()
	require.NoError(c.t, c.out.SetReadDeadline(time.Now().Add(hang)))
	buffer := make([]byte, 4096)
	for !done(c.seen) {
		n, err := c.out.Read(buffer)
		if c.seen += string(buffer[:n]); strings.Contains(c.seen, "[used ") {
			c.seen = slow.ReplaceAllString(c.seen, "")
		}
		if err != nil && !done(c.seen) {
			require.NoError(c.t, err, "expected %q, got %q", what, c.seen)
		}
	}
}

// wait returns the exit code.
func (c *conversation) wait() int {
	c.t.Helper()
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}
