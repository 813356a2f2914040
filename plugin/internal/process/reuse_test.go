package process_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asPID makes the kernel give the next process a pid. Another program may snatch
// it: then start is undone and tried again.
func asPID(t *testing.T, pid int, start func() (got int, undo func())) {
	t.Helper()
	const next = "/proc/sys/kernel/ns_last_pid"
	if file, err := os.OpenFile(next, os.O_WRONLY, 0); err != nil {
		t.Skip("cannot choose pids here:", err)
	} else {
		file.Close()
	}
	for range 200 {
		require.NoError(t, os.WriteFile(next, []byte(strconv.Itoa(pid-1)), 0))
		got, undo := start()
		if got == pid {
			return
		}
		undo()
	}
	t.Skip("the machine is too busy to choose a pid")
}

// A command gets the pid of an earlier one's bash, of which a daemon lives.
func TestPIDOfAnEarlierCommand(t *testing.T) {
	for _, first := range []string{"old", "new"} {
		t.Run(first+" ends first", func(t *testing.T) {
			tab := table(t)
			old := start(t, tab, `(env -i setsid bash -c "$p" >/dev/null 2>&1 &)`)
			daemon := old.pids(1)
			closed(t, "bash has ended", old.Exited())
			var now *command
			asPID(t, old.PID, func() (int, func()) {
				now = start(t, tab, `bash -c "$p" & wait`)
				return now.PID, func() { now.End(syscall.SIGKILL, 0) }
			})
			child := now.pids(1)
			require.Equal(t, daemon, memberPIDs(old.Group))
			require.Len(t, memberPIDs(now.Group), 2)
			if first == "old" {
				require.True(t, old.End(syscall.SIGKILL, 0))
				require.Empty(t, living(daemon))
				require.NotEmpty(t, living(child))
				require.True(t, now.End(syscall.SIGKILL, 0))
			} else {
				require.True(t, now.End(syscall.SIGKILL, 0))
				require.Empty(t, living(child))
				require.NotEmpty(t, living(daemon))
				require.True(t, old.End(syscall.SIGKILL, 0))
			}
		})
	}
}

// Another program's process gets the pid of a bash of which a daemon lives.
func TestPIDOfAnotherProgram(t *testing.T) {
	for _, ending := range []string{"guardian", "orderly"} {
		t.Run(ending, func(t *testing.T) {
			tab := table(t)
			d := startDoomed(t, doom{Commands: []string{`echo $$ >&3; (env -i setsid bash -c "$p" >/dev/null 2>&1 &)`}, Sweep: true})
			pids := d.pids(2)
			leader, daemon := pids[0], pids[1:]
			eventually(t, "bash has ended", func() bool { return !lives(leader) && syscall.Kill(leader, 0) != nil })
			var foreign *exec.Cmd
			asPID(t, leader, func() (int, func()) {
				foreign = exec.Command("sleep", "1000")
				foreign.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				require.NoError(t, foreign.Start())
				undo := func() {
					_ = foreign.Process.Kill()
					_ = foreign.Wait()
				}
				return foreign.Process.Pid, undo
			})
			defer func() {
				_ = foreign.Process.Kill()
				_ = foreign.Wait()
			}()
			if ending == "guardian" {
				require.NoError(t, d.cmd.Process.Kill())
			} else {
				require.NoError(t, d.stdin.Close())
			}
			require.Empty(t, d.guardianEnds())
			_ = d.cmd.Wait()
			tab.Sweep()
			require.Empty(t, living(daemon))
			require.True(t, lives(leader), "another program's process was killed")
		})
	}
}
