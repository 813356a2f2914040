//go:build unix

package shared_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// Meaning 4: Check shows each byte once.
func TestMeaning4ReadingIsIncremental(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	t.Run("each byte once, totals of the whole", func(t *testing.T) {
		g := newGate(t)
		pid := background(t, bash, "echo one; "+g.wait()+"; echo uno >&2; "+g.wait()+"; echo two; "+g.wait()+"; echo three").PID
		assert.Equal(t, "one\n", awaitText(t, bash, pid, "one").Stdout.Content)
		g.open(t)
		r := awaitText(t, bash, pid, "uno")
		assert.Empty(t, r.Stdout.Content)
		assert.Equal(t, "uno\n", r.Stderr.Content)
		r = check(t, bash, shared.CheckRequest{PID: pid})
		assert.Empty(t, r.Stdout.Content)
		assert.Empty(t, r.Stderr.Content)
		assert.EqualValues(t, 1, r.Stdout.TotalLines)
		assert.EqualValues(t, 4, r.Stdout.TotalBytes)
		assert.NotEmpty(t, r.Stdout.Path, "Content is not the whole stream")
		g.open(t)
		r = awaitText(t, bash, pid, "two")
		assert.Equal(t, "two\n", r.Stdout.Content)
		assert.EqualValues(t, 2, r.Stdout.TotalLines)
		assert.Equal(t, 1, r.Stdout.OutputLines)
		assert.False(t, r.Stdout.Truncated)
		g.open(t)
		r = check(t, bash, shared.CheckRequest{PID: pid, Wait: hang})
		assert.Equal(t, "three\n", r.Stdout.Content)
		r = check(t, bash, shared.CheckRequest{PID: pid})
		assert.Empty(t, r.Stdout.Content)
		assert.EqualValues(t, 14, r.Stdout.TotalBytes)
		assert.Equal(t, "one\ntwo\nthree\n", readFile(t, r.Stdout.Path))
	})
	t.Run("what Execute has shown does not come again", func(t *testing.T) {
		g := newGate(t)
		r := execute(t, bash, shared.ExecuteRequest{Command: "echo one; " + g.wait() + "; echo two", Timeout: soon})
		assert.Equal(t, "one\n", r.Stdout.Content)
		g.open(t)
		assert.Equal(t, "two\n", check(t, bash, shared.CheckRequest{PID: r.PID, Wait: hang}).Stdout.Content)
	})
	t.Run("All shows everything and counts as shown", func(t *testing.T) {
		g := newGate(t)
		pid := background(t, bash, "echo one; "+g.wait()+"; echo two").PID
		awaitText(t, bash, pid, "one")
		assert.Equal(t, "one\n", check(t, bash, shared.CheckRequest{PID: pid, All: true}).Stdout.Content)
		g.open(t)
		assert.Equal(t, "one\ntwo\n", awaitEnd(t, bash, pid).Stdout.Content)
		assert.Equal(t, "one\ntwo\n", awaitEnd(t, bash, pid).Stdout.Content)
		assert.Empty(t, check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content)
	})
	t.Run("listing does not count as shown", func(t *testing.T) {
		pid := background(t, bash, "echo text").PID
		awaitOver(t, bash, pid) // by listing
		assert.Equal(t, "text\n", check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content)
	})
	t.Run("what does not fit the limits never comes again", func(t *testing.T) {
		pid := background(t, bash, "seq 100").PID
		awaitOver(t, bash, pid)
		r := check(t, bash, shared.CheckRequest{PID: pid, Limits: shared.Limits{MaxLines: 2}})
		assert.Equal(t, "99\n100\n", r.Stdout.Content)
		assert.True(t, r.Stdout.Truncated)
		assert.Equal(t, "lines", r.Stdout.TruncatedBy)
		assert.EqualValues(t, 100, r.Stdout.TotalLines)
		assert.Equal(t, 100, strings.Count(readFile(t, r.Stdout.Path), "\n"))
		r = check(t, bash, shared.CheckRequest{PID: pid})
		assert.Empty(t, r.Stdout.Content)
		assert.False(t, r.Stdout.Truncated, "there was nothing to cut")
	})
}

// awaitOver waits for a job's end without showing anything of it.
func awaitOver(t *testing.T, bash shared.Bash, pid int) {
	t.Helper()
	eventually(t, "the end of the job", func() bool {
		for _, job := range check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs {
			if job.PID == pid {
				return job.Status != shared.StatusRunning && len(job.Leftover) == 0
			}
		}
		return false
	})
}

func TestCheckShowsTheLineBeingWritten(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	pid := background(t, bash, "printf 'Password: '; "+g.wait()+"; printf 'ok'; "+g.wait()+"; echo; echo bye").PID
	r := awaitText(t, bash, pid, "Password: $")
	assert.Equal(t, "Password: ", r.Stdout.Content)
	assert.EqualValues(t, 1, r.Stdout.TotalLines)
	assert.Empty(t, check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content)
	g.open(t)
	assert.Equal(t, "ok", awaitText(t, bash, pid, "ok").Stdout.Content)
	g.open(t)
	r = check(t, bash, shared.CheckRequest{PID: pid, Wait: hang})
	assert.Equal(t, "\nbye\n", r.Stdout.Content)
	assert.Equal(t, "Password: ok\nbye\n", readFile(t, r.Stdout.Path))
}

func TestCheckListsEveryJob(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	assert.Empty(t, check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	run(t, bash, "echo no job")
	first := background(t, bash, "echo text; exit 3")
	awaitEnd(t, bash, first.PID)
	second := background(t, bash, "echo text; "+forever)
	third := run(t, bash, forever+" & echo text")
	list := check(t, bash, shared.CheckRequest{PID: shared.AllJobs})
	assert.Zero(t, list.PID)
	require.Len(t, list.Jobs, 3)
	for i, want := range []*shared.Result{first, second, third} {
		assert.Equal(t, want.PID, list.Jobs[i].PID, "in the order of their starts")
		assert.Equal(t, want.Command, list.Jobs[i].Command)
		assert.Equal(t, shared.Output{}, list.Jobs[i].Stdout)
	}
	assert.Equal(t, shared.StatusFailed, list.Jobs[0].Status)
	assert.Equal(t, 3, list.Jobs[0].ExitCode)
	assert.Equal(t, shared.StatusRunning, list.Jobs[1].Status)
	assert.Equal(t, shared.StatusCompleted, list.Jobs[2].Status)
	assert.Len(t, list.Jobs[2].Leftover, 1)
}

func TestCheckReportsAtOnceWithoutWait(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	pid := background(t, bash, forever).PID
	r := check(t, bash, shared.CheckRequest{PID: pid, WaitFor: "never"})
	assert.Equal(t, shared.StatusRunning, r.Status)
}

func TestCheckWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	t.Run("that comes", func(t *testing.T) {
		g := newGate(t)
		pid := background(t, bash, g.wait()+"; echo out; exit 4").PID
		waiting := start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: hang})
		})
		g.open(t)
		done := await(t, waiting)
		require.NoError(t, done.err)
		assert.Equal(t, 4, done.result.ExitCode)
		assert.Equal(t, "out\n", done.result.Stdout.Content)
	})
	t.Run("that does not come in time", func(t *testing.T) {
		pid := background(t, bash, forever).PID
		r := check(t, bash, shared.CheckRequest{PID: pid, Wait: soon})
		assert.Equal(t, shared.StatusRunning, r.Status)
		assert.GreaterOrEqual(t, r.Duration, soon)
	})
	t.Run("that has come", func(t *testing.T) {
		pid := background(t, bash, "true").PID
		awaitEnd(t, bash, pid)
		assert.Equal(t, shared.StatusCompleted, check(t, bash, shared.CheckRequest{PID: pid, Wait: 1000 * hang}).Status)
	})
}

func TestCheckWaitsForOutput(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	t.Run("on either stream", func(t *testing.T) {
		for _, to := range []string{"", " >&2"} {
			pid := background(t, bash, "echo starting; echo listening on :8080"+to+"; "+forever).PID
			r := check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, WaitFor: `listening on :\d+`})
			assert.Contains(t, r.Stdout.Content+r.Stderr.Content, "listening on :8080")
			assert.Equal(t, shared.StatusRunning, r.Status)
		}
	})
	t.Run("that comes in pieces", func(t *testing.T) {
		g := newGate(t)
		pid := background(t, bash, "printf REA; "+g.wait()+"; printf DY; "+g.wait()+"; echo").PID
		waiting := start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "READY"})
		})
		g.open(t)
		done := await(t, waiting)
		require.NoError(t, done.err)
		assert.Equal(t, "READY", done.result.Stdout.Content)
		g.open(t)
	})
	t.Run("whose beginning was shown", func(t *testing.T) {
		g := newGate(t)
		pid := background(t, bash, "printf REA; "+g.wait()+"; echo DY; "+forever).PID
		awaitText(t, bash, pid, "REA")
		g.open(t)
		r := check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "READY"})
		assert.Equal(t, "DY\n", r.Stdout.Content)
		assert.Equal(t, shared.StatusRunning, r.Status)
	})
	t.Run("over several lines", func(t *testing.T) {
		pid := background(t, bash, "echo one; echo two; "+forever).PID
		r := check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, WaitFor: `(?s)one.two`})
		assert.Equal(t, "one\ntwo\n", r.Stdout.Content)
	})
	t.Run("at a line's end", func(t *testing.T) {
		pid := background(t, bash, "echo a prompt; printf '$ '; "+forever).PID
		awaitText(t, bash, pid, `(?m)^\$ $`)
	})
	t.Run("but not for what was shown", func(t *testing.T) {
		g := newGate(t)
		pid := background(t, bash, "echo ready; "+g.wait()+"; echo end").PID
		awaitText(t, bash, pid, "ready")
		waiting := start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "ready"})
		})
		g.open(t)
		done := await(t, waiting)
		require.NoError(t, done.err)
		assert.Equal(t, shared.StatusCompleted, done.result.Status, "it waited for the end")
		assert.Equal(t, "end\n", done.result.Stdout.Content)
	})
	t.Run("deep in a flood", func(t *testing.T) {
		pid := background(t, bash, "seq 300000; echo needle; seq 300000; "+forever).PID
		waiting := start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "(?m)^needle$"})
		})
		done := await(t, waiting)
		require.NoError(t, done.err)
		assert.Equal(t, shared.StatusRunning, done.result.Status)
		assert.GreaterOrEqual(t, done.result.Stdout.TotalLines, int64(300001))
	})
	t.Run("that does not come before the end", func(t *testing.T) {
		pid := background(t, bash, "echo something else").PID
		r := check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "never"})
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Equal(t, "something else\n", r.Stdout.Content)
	})
	t.Run("with leftovers", func(t *testing.T) {
		g := newGate(t)
		r := run(t, bash, "{ "+g.wait()+"; echo up; "+forever+"; } & echo early")
		g.open(t)
		assert.Equal(t, "up\n", awaitText(t, bash, r.PID, "up").Stdout.Content)
	})
}

func TestCheckByManyAtOnce(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	pid := background(t, bash, g.wait()+"; echo go; "+g.wait()).PID
	const waiters = 64
	waiting := make(chan outcome, waiters)
	for range waiters {
		go func() {
			r, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "(?m)^go$"})
			waiting <- outcome{r, err}
		}()
	}
	g.open(t)
	var shown strings.Builder
	for i := range waiters {
		done := await(t, waiting)
		require.NoError(t, done.err)
		shown.WriteString(done.result.Stdout.Content)
		if i == 0 {
			g.open(t) // those who came after the output was shown wait for the end
		}
	}
	assert.Equal(t, "go\n", shown.String(), "each byte once, to one of them")
}

// However much there is to look through, a wait ends when it is over or given up,
// and calls beside it go on.
func TestCheckWaitsEndAmidAFlood(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	plugin := bash.PluginPID()
	pid := background(t, bash, "yes 'a line of a build log that does not say much' | head -c 250000000; "+forever).PID
	awaitText(t, bash, pid, "a line")
	const pattern = `(?i)error: |(\S{1,100} ){1,4}zzz|ready in \d+`
	var waits []<-chan outcome
	for range 3 {
		waits = append(waits, start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: soon, WaitFor: pattern})
		}))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	waits = append(waits, start(func() (*shared.Result, error) {
		return bash.Check(cancelled, shared.CheckRequest{PID: pid, Wait: 1000 * hang, WaitFor: pattern})
	}))
	assert.Equal(t, "beside\n", run(t, bash, "echo beside").Stdout.Content)
	cancel()
	for _, wait := range waits {
		done := await(t, wait)
		require.NoError(t, done.err)
		assert.Equal(t, shared.StatusRunning, done.result.Status)
	}
	assert.Equal(t, plugin, bash.PluginPID())
}

func TestCheckWaitsEndWithAKill(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	pid := background(t, bash, "echo up; "+forever).PID
	awaitText(t, bash, pid, "up")
	waiting := start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: 1000 * hang, WaitFor: "never"})
	})
	kill(t, bash, pid)
	done := await(t, waiting)
	if done.err != nil { // it came after the job was forgotten
		requireCode(t, done.err, shared.ErrNotFound)
		return
	}
	assert.Equal(t, shared.StatusKilled, done.result.Status)
	assert.Equal(t, shared.CauseKill, done.result.Cause)
}

func TestCheckListsLongCommands(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	command := ": " + strings.Repeat("x", shared.MaxCommandBytes-2)
	for range 8 {
		execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground})
	}
	list := check(t, bash, shared.CheckRequest{PID: shared.AllJobs})
	require.Len(t, list.Jobs, 8)
	for _, job := range list.Jobs {
		assert.Equal(t, command, job.Command)
	}
}
