package process_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/process"
)

func memberPIDs(g *process.Group) []int {
	var pids []int
	for _, m := range g.Members() {
		pids = append(pids, m.PID)
	}
	slices.Sort(pids)
	return pids
}

func TestLeftoversAreListedUntilTheyEnd(t *testing.T) {
	for name, text := range map[string]string{
		"background": `bash -c 'echo $$ >&3; read <&4; exit' & exit 3`,
		"redirected": `bash -c 'echo $$ >&3; read <&4; exit' </dev/null >/dev/null 2>&1 & exit 3`,
		"setsid":     `setsid bash -c 'echo $$ >&3; read <&4; exit' & exit 3`,
		"newline":    "bash -c 'echo $$ >&3; read <&4; exit' & exit 3\n",
		"daemon":     `(env -i setsid bash -c 'echo $$ >&3; read <&4; exit' >/dev/null 2>&1 &); exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && (name == "setsid" || name == "daemon") {
				t.Skip("a process that leaves its group is found on Linux alone")
			}
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			defer write.Close()
			c := start(t, fmt.Sprintf(`exec 4</proc/%d/fd/%d; `, os.Getpid(), read.Fd())+text)
			pid := c.pids(1)[0]
			closed(t, "bash has ended", c.Exited())
			require.Equal(t, 3, c.Status().Code)
			require.True(t, c.LeftBehind())
			require.Equal(t, []int{pid}, memberPIDs(c.Group))
			require.Contains(t, c.Members()[0].Command, "bash -c echo $$ >&3")
			select {
			case <-c.Gone():
				require.Fail(t, "gone while its process lives")
			default:
			}
			_, err = io.WriteString(write, "end\n")
			require.NoError(t, err)
			closed(t, "gone when its last process has ended", c.Gone())
			require.Empty(t, c.Members())
		})
	}
}

func TestNothingIsLeftBehindByPlainCommands(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"true", "sleep 0 & wait", "(true &)", "(setsid true &); sleep 0.05", "true | true | true", "x=$(setsid -f true)"} {
		c := start(t, text)
		closed(t, text, c.Gone())
	}
}

// A tee that writes the leader's last words, and closes its file, is waited for.
// The system may take its time for that: five in a row are enough.
func TestRelaysAreNotLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process is at")
	}
	t.Parallel()
	folder := t.TempDir()
	attempts, row := 0, 0
	eventually(t, "five in a row have ended with their command", func() bool {
		attempts++
		row++
		file := filepath.Join(folder, fmt.Sprint(attempts))
		c := start(t, "exec > >(tee "+file+"); echo hi")
		closed(t, "bash has ended", c.Exited())
		if c.LeftBehind() {
			row = 0
			closed(t, "all is over", c.Gone())
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "hi\n", string(text))
		return row == 5
	})
	t.Logf("%d commands", attempts)
}

// A relay that does not end is left behind, and loses nothing.
func TestHeldRelayIsLeftBehind(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	file := filepath.Join(t.TempDir(), "file")
	c := start(t, fmt.Sprintf(`exec 4</proc/%d/fd/%d > >(echo $BASHPID >&3; read <&4; exec cat >%s); echo hi`, os.Getpid(), read.Fd(), file))
	pids := c.pids(1)
	closed(t, "bash has ended", c.Exited())
	require.True(t, c.LeftBehind())
	require.Equal(t, pids, memberPIDs(c.Group))
	_, err = io.WriteString(write, "end\n")
	require.NoError(t, err)
	closed(t, "all is over", c.Gone())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "hi\n", string(text))
}

// A child in the background delays nothing, and is listed by what it executes. The
// system may take its time for that: one command is enough.
func TestBackgroundIsLeftBehindAtOnce(t *testing.T) {
	t.Parallel()
	eventually(t, "it is listed at once", func() bool {
		c := start(t, `sleep 1000 & exit`)
		closed(t, "bash has ended", c.Exited())
		begin := time.Now()
		require.True(t, c.LeftBehind())
		took, members := time.Since(begin), c.Members()
		require.Len(t, members, 1)
		require.True(t, c.End(syscall.SIGKILL, 0))
		return took < 3*time.Millisecond && (runtime.GOOS != "linux" || members[0].Command == "sleep 1000")
	})
}

// Nor does one that works, as a subshell: only what reads from a pipe has time for its work.
func TestABusySubshellIsLeftBehindSoon(t *testing.T) {
	t.Parallel()
	eventually(t, "it is left behind soon", func() bool {
		c := start(t, `(while :; do :; done) & exit`)
		closed(t, "bash has ended", c.Exited())
		begin := time.Now()
		require.True(t, c.LeftBehind())
		took := time.Since(begin)
		require.True(t, c.End(syscall.SIGKILL, 0))
		return took < 250*time.Millisecond
	})
}

// Several commands at once leave daemons behind: each gets its own back.
func TestOrphansFindTheirGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	for name, text := range map[string]string{
		"same group":                          `(bash -c "$p" &)`,
		"own group":                           `set -m; (bash -c "$p" &)`,
		"setsid, tagged":                      `(setsid bash -c "$p" &)`,
		"setsid, tagged, bash lives":          `(setsid bash -c "$p" &); sleep 1000`,
		"cleared environment":                 `(env -i bash -c "$p" &)`,
		"cleared environment, bash lives":     `(env -i bash -c "$p" &); sleep 1000`,
		"cleared environment, setsid":         `env -i setsid bash -c "$p" & sleep 0.2`,
		"cleared environment, setsid, parent": `env -i setsid bash -c "bash -c '$p'; :" & sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var commands []*command
			var want [][]int
			for range 8 {
				commands = append(commands, start(t, text))
			}
			for _, c := range commands {
				want = append(want, c.pids(1))
			}
			for i, c := range commands {
				if text[len(text)-1] != '0' || name == "cleared environment, setsid" {
					closed(t, "bash has ended", c.Exited())
				}
				require.Subset(t, memberPIDs(c.Group), want[i])
			}
			for i, c := range commands {
				require.True(t, c.End(syscall.SIGKILL, 0))
				require.Empty(t, living(want[i]))
				for _, others := range want[i+1:] {
					require.Equal(t, others, living(others), "another command's process was ended")
				}
			}
		})
	}
}

// A process that has taken the tag off belongs to the command for as long as its
// ancestors live.
func TestEndOfAProcessWithoutAMark(t *testing.T) {
	t.Parallel()
	c := start(t, `(ulimit -x unlimited; env -i setsid -w bash -c "$p"; :); :`)
	pids := c.pids(1)
	require.Contains(t, memberPIDs(c.Group), pids[0])
	require.True(t, c.End(syscall.SIGKILL, 0))
	eventually(t, "it has ended", func() bool { return len(living(pids)) == 0 })
}

func TestNoZombieIsLeft(t *testing.T) {
	for range 50 {
		c := start(t, `(true &); (setsid sleep 0.01 &); (env -i sleep 0.02 &)`)
		closed(t, "bash has ended", c.Exited())
	}
	eventually(t, "nothing is left of 200 processes", func() bool { return len(children(os.Getpid())) == 0 })
}

// Processes that a command merely found running are none of its own.
func TestOthersAreNotTouched(t *testing.T) {
	t.Parallel()
	server := exec.Command("sleep", "1000")
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, server.Start())
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	c := start(t, fmt.Sprintf(`kill -0 %d && bash -c "$p"`, server.Process.Pid))
	c.pids(1)
	require.NotContains(t, memberPIDs(c.Group), server.Process.Pid)
	require.True(t, c.End(syscall.SIGTERM, 0))
	require.True(t, lives(server.Process.Pid))
}
