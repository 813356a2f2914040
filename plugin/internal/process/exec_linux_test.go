package process_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A restricted program must not meet the thread that forked it. Here that thread is slow to
// end: it runs when the processors have nothing else to do, and they have.
func TestTheForkingThreadHasEndedWhenTheProgramBegins(t *testing.T) {
	var quit atomic.Bool
	defer quit.Store(true)
	for range runtime.NumCPU() {
		go func() {
			for !quit.Load() {
			}
		}()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	for range 30 {
		thread, toProgram, err := os.Pipe()
		require.NoError(t, err)
		says, toTest, err := os.Pipe()
		require.NoError(t, err)
		s := spec(`read -r thread <&4; if [ -e /proc/$PPID/task/$thread ]; then echo lives; else echo gone; fi >&3`, null, toTest)
		s.Files = append(s.Files, thread)
		s.Restrict = func() error {
			fmt.Fprintln(toProgram, unix.Gettid())
			return unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_IDLE, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0)
		}
		g, err := table().Start(s)
		require.NoError(t, err)
		for _, f := range []*os.File{thread, toProgram, toTest} {
			require.NoError(t, f.Close())
		}
		said, err := io.ReadAll(says)
		require.NoError(t, err)
		require.Equal(t, "gone\n", string(said))
		<-g.Gone()
		require.NoError(t, says.Close())
	}
}

// A restricted program that somebody kills as it starts has that outcome, as any other.
func TestARestrictedProgramIsKilledAsItStarts(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	others := childPIDs(os.Getpid())
	killed := 0
	for range 100 {
		s := spec("exit 5", null, null)
		s.Restrict = func() error { return nil }
		var quit atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !quit.Load() {
				for _, pid := range childPIDs(os.Getpid()) {
					if !slices.Contains(others, pid) {
						_ = unix.Kill(pid, unix.SIGKILL)
					}
				}
			}
		}()
		g, err := table().Start(s)
		quit.Store(true)
		<-done
		require.NoError(t, err)
		<-g.Gone()
		if g.Status().Signal == unix.SIGKILL {
			killed++
		} else {
			require.Equal(t, 5, g.Status().Code)
		}
	}
	t.Logf("%d of 100 were killed", killed)
}
