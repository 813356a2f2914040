package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfineFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"in", "out"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	host := func(args ...string) ran {
		cmd := exec.Command(filepath.Join(programs, "host-example"), args...)
		cmd.Dir = dir
		return finish(t, cmd)
	}
	if r := host("run", "-read-only", "-no-network", "true"); strings.Contains(r.stderr, "this system cannot keep") {
		t.Skip(r.stderr)
	}
	for name, c := range map[string]struct {
		flags   []string
		command string
		refused string // "": nothing
	}{
		"read-only":          {[]string{"-read-only"}, "echo x >in/x", "in/x: Permission denied"},
		"writable":           {[]string{"-writable", "in"}, "echo x >out/x", "out/x: Permission denied"},
		"writable, inside":   {[]string{"-writable", "in", "-dir", "out"}, "echo x >../in/x; echo x >$TMPDIR/x", ""},
		"writable, twice":    {[]string{"-writable", "in", "-writable", "out"}, "echo x >in/x; echo x >out/x", ""},
		"private":            {[]string{"-private"}, "ls in", "in': Permission denied"},
		"readable":           {[]string{"-readable", "in"}, "ls in; ls out", "out': Permission denied"},
		"no network":         {[]string{"-no-network"}, ": </dev/tcp/127.0.0.1/1", "1: Permission denied"},
		"best effort":        {[]string{"-best-effort", "-read-only"}, "echo x >in/x", "in/x: Permission denied"},
		"missing":            {[]string{"-writable", "nope"}, "true", `-writable: Confine.Writable: cannot use "` + dir + `/nope"`},
		"missing to be read": {[]string{"-readable", "nope"}, "true", `-readable: Confine.Readable: cannot use "` + dir + `/nope"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := host(append(append([]string{"run"}, c.flags...), c.command)...)
			assert.Equal(t, c.refused == "", r.code == 0, r.stderr)
			assert.Contains(t, r.stderr, c.refused)
		})
	}
}
