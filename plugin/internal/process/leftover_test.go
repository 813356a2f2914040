package process_test

import (
	"bufio"
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
			if runtime.GOOS != "linux" && (name == "setsid" || name == "daemon") {
				t.Skip("a process that leaves its group is found on Linux alone")
			}
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			defer write.Close()
			c := start(t, table(t), fmt.Sprintf(`exec 4</proc/%d/fd/%d; `, os.Getpid(), read.Fd())+text)
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
	tab := table(t)
	for _, text := range []string{"true", "sleep 0 & wait", "(true &)", "(setsid true &); sleep 0.05", "true | true | true", "x=$(setsid -f true)"} {
		c := start(t, tab, text)
		closed(t, text, c.Gone())
	}
}

// A tee that writes the leader's last words, and closes its file, is waited for.
func TestRelaysAreNotLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process is at")
	}
	tab := table(t)
	file, left := filepath.Join(t.TempDir(), "file"), 0
	for range 100 {
		c := start(t, tab, "echo hi > >(tee "+file+")")
		closed(t, "bash has ended", c.Exited())
		if c.LeftBehind() {
			left++ // the system may take its time
		}
		closed(t, "all is over", c.Gone())
	}
	require.Less(t, left, 15)
}

// Several commands at once leave daemons behind: each gets its own back.
func TestOrphansFindTheirGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	for name, text := range map[string]string{
		"same group":                          `(bash -c "$p" &)`,
		"own group":                           `set -m; (bash -c "$p" &)`,
		"setsid, marked":                      `(setsid bash -c "$p" &)`,
		"setsid, marked, bash lives":          `(setsid bash -c "$p" &); sleep 1000`,
		"cleared environment":                 `(env -i bash -c "$p" &)`,
		"cleared environment, bash lives":     `(env -i bash -c "$p" &); sleep 1000`,
		"cleared environment, setsid":         `env -i setsid bash -c "$p" & sleep 0.2`,
		"cleared environment, setsid, parent": `env -i setsid bash -c "bash -c '$p'; :" & sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			tab := table(t)
			var commands []*command
			var want [][]int
			for range 8 {
				commands = append(commands, start(t, tab, text))
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

// A login of root's, as "su -", gives what it starts limits, an environment and a
// session of their own: nothing that was inherited is left.
const login = `ulimit -x unlimited; env -i setsid -f bash -c "$p"; exec sleep 1000`

func TestWhatALoginLeavesBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	for name, beside := range map[string]bool{"alone": false, "with the output of one of two": true} {
		t.Run(name, func(t *testing.T) {
			tab := table(t)
			tell, there, err := os.Pipe()
			require.NoError(t, err)
			defer tell.Close()
			defer there.Close()
			_, output, err := os.Pipe()
			require.NoError(t, err)
			defer output.Close()
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			require.NoError(t, err)
			defer null.Close()
			of := spec(login, null, there)
			if beside {
				start(t, tab, `exec sleep 1000`)
				of.Files[1] = output
			}
			g, err := tab.Start(of)
			require.NoError(t, err)
			t.Cleanup(func() { g.End(syscall.SIGKILL, 0) })
			left := (&command{g, t, bufio.NewReader(tell)}).pids(1)
			require.NoError(t, syscall.Kill(g.PID, syscall.SIGKILL))
			closed(t, "bash has ended", g.Exited())
			require.True(t, g.LeftBehind())
			eventually(t, "setsid itself to end", func() bool { return slices.Equal(left, memberPIDs(g)) })
			require.True(t, g.End(syscall.SIGKILL, 0))
			require.Empty(t, living(left))
		})
	}
}

// Amid an exec the environment, which is all that tells here, cannot be read.
func TestWhatIsAmidAnExecFindsItsGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	tab := table(t)
	start(t, tab, `exec sleep 1000`)
	for range 50 {
		c := start(t, tab, `ulimit -x unlimited; setsid -f sleep 1000`)
		closed(t, "bash has ended", c.Exited())
		require.True(t, c.LeftBehind())
		eventually(t, "setsid itself to end", func() bool { return len(c.Members()) == 1 })
		c.End(syscall.SIGKILL, 0)
		closed(t, "all is over", c.Gone())
	}
}

// Where it may be one command's or another's it is none's.
func TestWhatMayBeAnotherCommandsIsLeftAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	tab := table(t)
	other := start(t, tab, `echo $$ >&3; exec sleep 1000`)
	other.pids(1)
	c := start(t, tab, login)
	left := c.pids(1)
	require.NoError(t, syscall.Kill(c.PID, syscall.SIGKILL))
	closed(t, "all of it that is known has ended", c.Gone())
	require.True(t, other.End(syscall.SIGKILL, 0))
	third := start(t, tab, `(setsid true &); exec sleep 1000`)
	eventually(t, "an orphan is taken up", func() bool { tab.Sweep(); return len(memberPIDs(third.Group)) == 1 })
	require.True(t, third.End(syscall.SIGKILL, 0))
	require.Equal(t, left, living(left))
	require.True(t, tab.Close())
	require.Empty(t, living(left))
}

// What nothing tells of goes at the latest with the session.
func TestStraysGoWithTheSession(t *testing.T) {
	tab := process.NewTable(nil)
	other := start(t, tab, `sleep 1000`)
	c := start(t, tab, `(env -i setsid bash -c "$p" >/dev/null 2>&1 &); exec sleep 1000`)
	pids := append(c.pids(1), other.PID, c.PID)
	require.True(t, tab.Close())
	require.Empty(t, living(pids))
	c.silent()
}

func TestNoZombieIsLeft(t *testing.T) {
	tab := table(t)
	for range 100 {
		c := start(t, tab, `(true &); (setsid sleep 0.01 &); (env -i sleep 0.02 &)`)
		closed(t, "bash has ended", c.Exited())
	}
	eventually(t, "nothing is left of 400 processes", func() bool { return len(children(os.Getpid())) == 0 })
}

// Processes that a command merely found running are none of its own.
func TestOthersAreNotTouched(t *testing.T) {
	server := exec.Command("sleep", "1000")
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, server.Start())
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	tab := table(t)
	time.Sleep(20 * time.Millisecond) // a start is told in hundredths of a second
	c := start(t, tab, fmt.Sprintf(`kill -0 %d && bash -c "$p"`, server.Process.Pid))
	c.pids(1)
	require.NotContains(t, memberPIDs(c.Group), server.Process.Pid)
	require.True(t, c.End(syscall.SIGTERM, 0))
	require.True(t, tab.Close())
	require.True(t, lives(server.Process.Pid))
}

// What a plugin that runs within a command has left behind, when it and its
// guardian are killed, is the command's.
func TestOrphansOfASessionWithinAnother(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	tab := table(t)
	c := start(t, tab, `export `+doomedEnv+`='{"Commands":["(setsid bash -c \"$p\" &); sleep 1000"]}'; sleep 1000 | $program & echo $! >&3; wait`)
	other := start(t, tab, `echo $$ >&3; exec sleep 1000`)
	other.pids(1)
	inner, daemon := c.pids(2), 0
	slices.Sort(inner) // the daemon comes later
	inner, daemon = inner[:1], inner[1]
	for _, pid := range childPIDs(inner[0]) {
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); string(text) == process.GuardianName+"\x00" {
			inner = append(inner, pid)
		}
	}
	require.Len(t, inner, 2)
	for i := len(inner) - 1; i >= 0; i-- {
		require.NoError(t, syscall.Kill(inner[i], syscall.SIGKILL))
	}
	eventually(t, "they have ended", func() bool { return len(living(inner)) == 0 })
	require.Contains(t, memberPIDs(c.Group), daemon)
	require.NotContains(t, memberPIDs(other.Group), daemon)
	require.True(t, c.End(syscall.SIGKILL, 0))
	require.Empty(t, living([]int{daemon}))
}
