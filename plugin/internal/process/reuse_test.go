package process_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const lastPID = "/proc/sys/kernel/ns_last_pid"

// farPID is a pid that the kernel has not given for long and will not give
// soon: other programs' tests rely on recent ones.
func farPID(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(lastPID)
	if err == nil {
		err = os.WriteFile(lastPID, text, 0)
	}
	if err != nil {
		t.Skip("cannot choose pids here:", err)
	}
	last, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	limit, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	most, _ := strconv.Atoi(strings.TrimSpace(string(limit)))
	pid := last + most/2
	if pid >= most {
		pid = pid - most + 1000
	}
	return pid
}

// nextPID calls start with the kernel about to give a pid, if nobody else
// snatches it. For pid 0 the kernel chooses.
func nextPID(pid int, start func()) {
	if pid == 0 {
		start()
		return
	}
	last, _ := os.ReadFile(lastPID)
	_ = os.WriteFile(lastPID, []byte(strconv.Itoa(pid-1)), 0)
	start()
	_ = os.WriteFile(lastPID, last, 0)
}

// asPID starts something until it has got the pid.
func asPID(t *testing.T, pid int, start func() (got int, undo func())) {
	t.Helper()
	for range 200 {
		var got int
		var undo func()
		nextPID(pid, func() { got, undo = start() })
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
			var old *command
			nextPID(farPID(t), func() { old = start(t, `(env -i setsid bash -c "$p" >/dev/null 2>&1 &)`) })
			daemon := old.pids(1)
			closed(t, "bash has ended", old.Exited())
			var now *command
			asPID(t, old.PID, func() (int, func()) {
				now = start(t, `bash -c "$p" & wait`)
				return now.PID, func() { now.End(syscall.SIGKILL, 0) }
			})
			child := now.pids(1)
			require.Equal(t, daemon, memberPIDs(old.Group))
			require.Len(t, memberPIDs(now.Group), 2)
			if first == "old" {
				require.True(t, old.End(syscall.SIGKILL, 0))
				old.silent()
				require.NotEmpty(t, living(child))
				require.True(t, now.End(syscall.SIGKILL, 0))
			} else {
				require.True(t, now.End(syscall.SIGKILL, 0))
				now.silent()
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
			d := startDoomed(t, doom{Commands: []string{`echo $$ >&3; (env -i setsid bash -c "$p" >/dev/null 2>&1 &)`}, PID: farPID(t)})
			pids := d.pids(2)
			leader := pids[0]
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
			d.silent()
			require.True(t, lives(leader), "another program's process was killed")
		})
	}
}
