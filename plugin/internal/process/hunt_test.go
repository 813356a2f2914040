package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A plugin that is killed cannot tell which of its children are reaped after it:
// who gets their pids then is not the plugin's.
func TestReusedPIDsAreNotThePlugins(t *testing.T) {
	const begun, later = 1000, 2000
	for name, c := range map[string]struct {
		p     info
		other []info
		told  bool
	}{
		"the child":                          {info{pid: 7, start: begun}, nil, true},
		"a member of its group":              {info{pid: 8, pgrp: 7, start: later}, []info{{pid: 7, start: begun}}, true},
		"a member, the child has ended":      {info{pid: 8, pgrp: 7, start: later}, nil, true},
		"another that was there before":      {info{pid: 7, start: begun - 1}, nil, false},
		"another that has the pid now":       {info{pid: 7, start: begun + 1}, nil, false},
		"a member of another's group":        {info{pid: 8, pgrp: 7, start: later}, []info{{pid: 7, start: later}}, false},
		"a member of a group of before that": {info{pid: 8, pgrp: 7, start: begun - 1}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[int]info{c.p.pid: c.p}
			for _, p := range c.other {
				all[p.pid] = p
			}
			h := hunt{children: map[int]uint64{7: begun}}
			assert.Equal(t, c.told, h.isReported(c.p, all))
		})
	}
}

// Lines that found no room while the guardian was stopped are missing.
func TestDroppedLines(t *testing.T) {
	for text, want := range map[string]map[int]uint64{
		"":                         {},
		"+7 100\n+8 100\n-7 100\n": {8: 100},
		"+7 100\n+7 200\n":         {7: 200},
		"-7 100\n-8 100\n":         {},
		"+7 100\n+8 1":             {7: 100, 8: 1},
	} {
		r := readReports(bufio.NewScanner(strings.NewReader(text)), nil)
		assert.Equal(t, want, r.children, "%q", text)
		assert.False(t, r.gone)
	}
}

// The guardian kills what the plugin reported, unless the plugin's last word was that
// nothing is left.
func TestGuardianTrustsThePluginsLastWord(t *testing.T) {
	for last, survives := range map[string]bool{"": false, "gone\n": true, "gone\n-1\n": false} {
		t.Run(strings.TrimSpace(last), func(t *testing.T) {
			t.Parallel()
			child := exec.Command("sleep", "1000")
			child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, child.Start())
			ended := make(chan error, 1)
			go func() { ended <- child.Wait() }()
			at, err := stat(child.Process.Pid)
			require.NoError(t, err)

			program, err := os.Executable()
			require.NoError(t, err)
			text, err := json.Marshal(orders{Plugin: os.Getpid(), Group: syscall.Getpgrp(), ID: newPluginID()})
			require.NoError(t, err)
			here, there, err := os.Pipe()
			require.NoError(t, err)
			null, err := os.Open(os.DevNull)
			require.NoError(t, err)
			guardian := exec.Cmd{Path: program, Args: []string{GuardianName}, ExtraFiles: []*os.File{here, null}}
			require.NoError(t, guardian.Start())
			here.Close()
			null.Close()
			_, err = fmt.Fprintf(there, "%s\n+%d %d\n%s", text, at.pid, at.start, last)
			require.NoError(t, err)
			require.NoError(t, there.Close())
			require.NoError(t, guardian.Wait())
			assert.Equal(t, survives, still(at))
			_ = child.Process.Kill()
			<-ended
		})
	}
}
