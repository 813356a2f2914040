//go:build unix

package contract

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

func TestWaitForMatchesLines(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, pattern := range []string{`^ready`, `on 80$`, `^ready on \d+$`} {
		pid := plugintest.Background(t, bash, "echo not ready; echo ready on 80; echo more; "+plugintest.Forever).PID
		assert.True(t, plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: pattern}).Matched, pattern)
	}
}

func TestMatchedSaysWhyCheckReturned(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: 1, WaitFor: "never"})
	assert.False(t, r.Matched, "the time is over")
	assert.Equal(t, shared.StatusRunning, r.Status)
	for range 50 { // the last output and the end come together
		pid := plugintest.Background(t, bash, "echo last").PID
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "last"})
		assert.True(t, r.Matched)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "never"})
		assert.False(t, r.Matched)
	}
}

// With All, output that was shown, and even output that only the log has, matches.
func TestWaitForFromTheFirstByte(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for name, command := range map[string]string{
		"shown":      "echo listening on 80; " + plugintest.Forever,
		"in the log": "echo listening on 80; seq 300000; echo end; " + plugintest.Forever,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := plugintest.Background(t, bash, command).PID
			until := "^listening"
			if name == "in the log" {
				until = "^end$"
			}
			require.True(t, plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: until}).Matched)
			r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: 1000 * plugintest.Hang, WaitFor: `^listening on \d+$`, All: true})
			assert.True(t, r.Matched)
			r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: 1, WaitFor: "^listening"})
			assert.False(t, r.Matched, "without All it was shown")
		})
	}
}

func TestPeekDoesNotCount(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo one; echo two >&2").PID
	for _, peek := range []shared.CheckRequest{{Peek: true, Wait: plugintest.Hang}, {Peek: true, Wait: plugintest.Hang, All: true}} {
		peek.PID = pid
		r := plugintest.Check(t, bash, peek)
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Equal(t, "one\ntwo\n", r.Stdout.Content+r.Stderr.Content)
	}
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: 1000 * plugintest.Hang})
	assert.Equal(t, "one\ntwo\n", r.Stdout.Content+r.Stderr.Content)
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
	assert.Empty(t, r.Stdout.Content+r.Stderr.Content)
}

func TestPartialIsALineBeingWritten(t *testing.T) {
	t.Parallel()
	bash, g := plugintest.Launch(t), plugintest.NewGate(t)
	pid := plugintest.Background(t, bash, "printf par; "+g.Wait()+"; echo tial; "+g.Wait()+"; printf end").PID
	r := plugintest.AwaitText(t, bash, pid, "par")
	assert.True(t, r.Stdout.Partial)
	g.Open(t)
	r = plugintest.AwaitText(t, bash, pid, "tial")
	assert.False(t, r.Stdout.Partial)
	g.Open(t)
	r = plugintest.AwaitEnd(t, bash, pid)
	assert.Equal(t, "partial\nend", r.Stdout.Content)
	assert.False(t, r.Stdout.Partial, "nobody writes it any more")
}

func TestDroppedCountsWhatIsNoText(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Run(t, bash, `head -c 5000000 /dev/zero; printf '\e[31mred\e[m\r\n' >&2`)
	assert.Zero(t, r.Stdout.TotalBytes)
	assert.EqualValues(t, 5000000, r.Stdout.Dropped)
	assert.Equal(t, "red\n", r.Stderr.Content)
	assert.EqualValues(t, len("\x1b[31m\x1b[m"), r.Stderr.Dropped)
	assert.Zero(t, plugintest.Run(t, bash, "echo text").Stdout.Dropped)
}

func TestKillSaysWhatItEnded(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	left := plugintest.Run(t, bash, "sleep 1001 & sleep 1002 & echo hi")
	require.Len(t, left.Leftover, 2)
	plugintest.Eventually(t, "their programs", func() bool {
		left = plugintest.Check(t, bash, shared.CheckRequest{PID: left.PID})
		return left.Leftover[0].Command == "sleep 1001" && left.Leftover[1].Command == "sleep 1002"
	})
	assert.Equal(t, left.Leftover, plugintest.Kill(t, bash, left.PID).Ended)
	running := plugintest.Background(t, bash, "sleep 1003 & echo up; wait")
	plugintest.AwaitText(t, bash, running.PID, "up")
	require.Len(t, plugintest.Kill(t, bash, running.PID).Ended, 1)
	assert.Empty(t, plugintest.Kill(t, bash, plugintest.Background(t, bash, "exec "+plugintest.Forever).PID).Ended, "bash is not listed")
	last := plugintest.Run(t, bash, "sleep 1004 &")
	plugintest.Eventually(t, "its program", func() bool {
		return plugintest.Check(t, bash, shared.CheckRequest{PID: last.PID}).Leftover[0].Command == "sleep 1004"
	})
	all := plugintest.Kill(t, bash, shared.AllJobs).Jobs
	require.Len(t, all, 1)
	assert.Equal(t, "sleep 1004", all[0].Ended[0].Command)
}

func TestAProcessOfAJobStandsForTheJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	left := plugintest.Run(t, bash, "echo hi; sleep 1001 & (setsid bash -c 'sleep 1002; true' &)")
	require.NotEmpty(t, left.Leftover)
	other := plugintest.Background(t, bash, plugintest.Forever+"; true")
	for _, p := range left.Leftover {
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: p.PID, All: true})
		assert.Equal(t, left.PID, r.PID)
		assert.Equal(t, "hi\n", r.Stdout.Content)
	}
	r := plugintest.Kill(t, bash, left.Leftover[0].PID)
	assert.Equal(t, left.PID, r.PID)
	for _, p := range left.Leftover {
		assert.False(t, plugintest.Alive(p.PID))
	}
	for _, pid := range []int{left.PID, left.Leftover[0].PID, bash.PluginPID()} {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid})
		require.ErrorIs(t, err, shared.ErrNotFound)
		assert.Contains(t, err.Error(), "the jobs are "+strconv.Itoa(other.PID))
		assert.NotContains(t, err.Error(), "killed")
	}
	plugintest.Kill(t, bash, other.PID)
	_, err := bash.Kill(t.Context(), shared.KillRequest{PID: other.PID})
	assert.ErrorContains(t, err, "there are no jobs")
}
