package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReplAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "repl", "-deny", "rm")
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+t.TempDir())
	p := sitDown(t, cmd)
	p.expect("Ctrl-D leaves.")
	p.command("touch hit")
	p.expect("[y]es, [n]o, [a]lways: ")
	p.press("n\r")
	p.expect("a person said no to `touch hit`")
	p.command("touch hit; echo done")
	p.expect("[a]lways: ")
	p.press("a\r")
	p.expect("done\r\n")
	p.command("touch hit; echo again")
	p.expect("again\r\n")
	p.command("rm hit")
	p.expect("a rule denies `rm hit`")
	assert.Equal(t, 1, p.leave())
	assert.FileExists(t, filepath.Join(cmd.Dir, "hit"))
}
