//go:build unix

package contract

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// Meaning 4: Check shows each byte once.
func TestMeaning4ReadingIsIncremental(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("each byte once, totals of the whole", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "echo one; "+g.Wait()+"; echo uno >&2; "+g.Wait()+"; echo two; "+g.Wait()+"; echo three").PID
		assert.Equal(t, "one\n", plugintest.AwaitText(t, bash, pid, "one").Stdout.Content)
		g.Open(t)
		r := plugintest.AwaitText(t, bash, pid, "uno")
		assert.Empty(t, r.Stdout.Content)
		assert.Equal(t, "uno\n", r.Stderr.Content)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
		assert.Empty(t, r.Stdout.Content)
		assert.Empty(t, r.Stderr.Content)
		assert.EqualValues(t, 1, r.Stdout.TotalLines)
		assert.EqualValues(t, 4, r.Stdout.TotalBytes)
		assert.NotEmpty(t, r.Stdout.Path, "Content is not the whole stream")
		g.Open(t)
		r = plugintest.AwaitText(t, bash, pid, "two")
		assert.Equal(t, "two\n", r.Stdout.Content)
		assert.EqualValues(t, 2, r.Stdout.TotalLines)
		assert.Equal(t, 1, r.Stdout.OutputLines)
		assert.False(t, r.Stdout.Truncated)
		g.Open(t)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang})
		assert.Equal(t, "three\n", r.Stdout.Content)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
		assert.Empty(t, r.Stdout.Content)
		assert.EqualValues(t, 14, r.Stdout.TotalBytes)
		assert.Equal(t, "one\ntwo\nthree\n", plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("what Execute has shown does not come again", func(t *testing.T) {
		g := plugintest.NewGate(t)
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo one; " + g.Wait() + "; echo two", Timeout: plugintest.Soon})
		assert.Equal(t, "one\n", r.Stdout.Content)
		g.Open(t)
		assert.Equal(t, "two\n", plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang}).Stdout.Content)
	})
	t.Run("All shows everything and counts as shown", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "echo one; "+g.Wait()+"; echo two").PID
		plugintest.AwaitText(t, bash, pid, "one")
		assert.Equal(t, "one\n", plugintest.Check(t, bash, shared.CheckRequest{PID: pid, All: true}).Stdout.Content)
		g.Open(t)
		assert.Equal(t, "one\ntwo\n", plugintest.AwaitEnd(t, bash, pid).Stdout.Content)
		assert.Equal(t, "one\ntwo\n", plugintest.AwaitEnd(t, bash, pid).Stdout.Content)
		assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content)
	})
	t.Run("listing does not count as shown", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo text").PID
		plugintest.AwaitOver(t, bash, pid) // by listing
		assert.Equal(t, "text\n", plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content)
	})
	t.Run("what does not fit the limits never comes again", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "seq 100").PID
		plugintest.AwaitOver(t, bash, pid)
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Limits: shared.Limits{MaxLines: 2}})
		assert.Equal(t, "99\n100\n", r.Stdout.Content)
		assert.True(t, r.Stdout.Truncated)
		assert.Equal(t, "lines", r.Stdout.TruncatedBy)
		assert.EqualValues(t, 100, r.Stdout.TotalLines)
		assert.Equal(t, 100, strings.Count(plugintest.ReadFile(t, r.Stdout.Path), "\n"))
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
		assert.Empty(t, r.Stdout.Content)
		assert.False(t, r.Stdout.Truncated, "there was nothing to cut")
	})
}

func TestCheckShowsTheLineBeingWritten(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	pid := plugintest.Background(t, bash, "printf 'Password: '; "+g.Wait()+"; printf 'ok'; "+g.Wait()+"; echo; echo bye").PID
	r := plugintest.AwaitText(t, bash, pid, "Password: $")
	assert.Equal(t, "Password: ", r.Stdout.Content)
	assert.EqualValues(t, 1, r.Stdout.TotalLines)
	assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Stdout.Content)
	g.Open(t)
	assert.Equal(t, "ok", plugintest.AwaitText(t, bash, pid, "ok").Stdout.Content)
	g.Open(t)
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang})
	assert.Equal(t, "\nbye\n", r.Stdout.Content)
	assert.Equal(t, "Password: ok\nbye\n", plugintest.ReadFile(t, r.Stdout.Path))
}

func TestCheckListsEveryJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	plugintest.Run(t, bash, "echo no job")
	first := plugintest.Background(t, bash, "echo text; exit 3")
	plugintest.AwaitEnd(t, bash, first.PID)
	second := plugintest.Background(t, bash, "echo text; "+plugintest.Forever)
	third := plugintest.Run(t, bash, plugintest.Forever+" & echo text")
	list := plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs})
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
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, plugintest.Forever).PID
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, WaitFor: "never"})
	assert.Equal(t, shared.StatusRunning, r.Status)
}

func TestCheckWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("that comes", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, g.Wait()+"; echo out; exit 4").PID
		waiting := plugintest.Start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: plugintest.Hang})
		})
		g.Open(t)
		done := plugintest.Await(t, waiting)
		require.NoError(t, done.Err)
		assert.Equal(t, 4, done.Result.ExitCode)
		assert.Equal(t, "out\n", done.Result.Stdout.Content)
	})
	t.Run("that does not come in time", func(t *testing.T) {
		pid := plugintest.Background(t, bash, plugintest.Forever).PID
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Soon})
		assert.Equal(t, shared.StatusRunning, r.Status)
		assert.GreaterOrEqual(t, r.Duration, plugintest.Soon)
	})
	t.Run("that has come", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "true").PID
		plugintest.AwaitEnd(t, bash, pid)
		assert.Equal(t, shared.StatusCompleted, plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: 1000 * plugintest.Hang}).Status)
	})
}

func TestCheckWaitsForOutput(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("on either stream", func(t *testing.T) {
		for _, to := range []string{"", " >&2"} {
			pid := plugintest.Background(t, bash, "echo starting; echo listening on :8080"+to+"; "+plugintest.Forever).PID
			r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: `listening on :\d+`})
			assert.Contains(t, r.Stdout.Content+r.Stderr.Content, "listening on :8080")
			assert.Equal(t, shared.StatusRunning, r.Status)
		}
	})
	t.Run("that comes in pieces", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "printf REA; "+g.Wait()+"; printf DY; "+g.Wait()+"; echo").PID
		waiting := plugintest.Start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "READY"})
		})
		g.Open(t)
		done := plugintest.Await(t, waiting)
		require.NoError(t, done.Err)
		assert.Equal(t, "READY", done.Result.Stdout.Content)
		g.Open(t)
	})
	t.Run("whose beginning was shown", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "printf REA; "+g.Wait()+"; echo DY; "+plugintest.Forever).PID
		plugintest.AwaitText(t, bash, pid, "REA")
		g.Open(t)
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "READY"})
		assert.Equal(t, "DY\n", r.Stdout.Content)
		assert.Equal(t, shared.StatusRunning, r.Status)
	})
	t.Run("over several lines", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo one; echo two; "+plugintest.Forever).PID
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: `(?s)one.two`})
		assert.Equal(t, "one\ntwo\n", r.Stdout.Content)
	})
	t.Run("at a line's end", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo a prompt; printf '$ '; "+plugintest.Forever).PID
		plugintest.AwaitText(t, bash, pid, `(?m)^\$ $`)
	})
	t.Run("but not for what was shown", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "echo ready; "+g.Wait()+"; echo end").PID
		plugintest.AwaitText(t, bash, pid, "ready")
		waiting := plugintest.Start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "ready"})
		})
		g.Open(t)
		done := plugintest.Await(t, waiting)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.StatusCompleted, done.Result.Status, "it waited for the end")
		assert.Equal(t, "end\n", done.Result.Stdout.Content)
	})
	t.Run("deep in a flood", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "seq 300000; echo needle; seq 300000; "+plugintest.Forever).PID
		waiting := plugintest.Start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "(?m)^needle$"})
		})
		done := plugintest.Await(t, waiting)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.StatusRunning, done.Result.Status)
		assert.GreaterOrEqual(t, done.Result.Stdout.TotalLines, int64(300001))
	})
	t.Run("that does not come before the end", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo something else").PID
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "never"})
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Equal(t, "something else\n", r.Stdout.Content)
	})
	t.Run("with leftovers", func(t *testing.T) {
		g := plugintest.NewGate(t)
		r := plugintest.Run(t, bash, "{ "+g.Wait()+"; echo up; "+plugintest.Forever+"; } & echo early")
		g.Open(t)
		assert.Equal(t, "up\n", plugintest.AwaitText(t, bash, r.PID, "up").Stdout.Content)
	})
}

func TestCheckByManyAtOnce(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	pid := plugintest.Background(t, bash, g.Wait()+"; echo go; "+g.Wait()).PID
	const waiters = 64
	waiting := make(chan plugintest.Outcome, waiters)
	for range waiters {
		go func() {
			r, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "(?m)^go$"})
			waiting <- plugintest.Outcome{Result: r, Err: err}
		}()
	}
	g.Open(t)
	var shown strings.Builder
	for i := range waiters {
		done := plugintest.Await(t, waiting)
		require.NoError(t, done.Err)
		shown.WriteString(done.Result.Stdout.Content)
		if i == 0 {
			g.Open(t) // those who came after the output was shown wait for the end
		}
	}
	assert.Equal(t, "go\n", shown.String(), "each byte once, to one of them")
}

// However much there is to look through, a wait ends when it is over or given up,
// and calls beside it go on.
func TestCheckWaitsEndAmidAFlood(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	plugin := bash.PluginPID()
	pid := plugintest.Background(t, bash, "yes 'a line of a build log that does not say much' | head -c 250000000; "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, pid, "a line")
	const pattern = `(?i)error: |(\S{1,100} ){1,4}zzz|ready in \d+`
	var waits []<-chan plugintest.Outcome
	for range 3 {
		waits = append(waits, plugintest.Start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: plugintest.Soon, WaitFor: pattern})
		}))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	waits = append(waits, plugintest.Start(func() (*shared.Result, error) {
		return bash.Check(cancelled, shared.CheckRequest{PID: pid, Wait: 1000 * plugintest.Hang, WaitFor: pattern})
	}))
	assert.Equal(t, "beside\n", plugintest.Run(t, bash, "echo beside").Stdout.Content)
	cancel()
	for _, wait := range waits {
		done := plugintest.Await(t, wait)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.StatusRunning, done.Result.Status)
	}
	assert.Equal(t, plugin, bash.PluginPID())
}

func TestCheckWaitsEndWithAKill(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, pid, "up")
	waiting := plugintest.Start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: pid, Wait: 1000 * plugintest.Hang, WaitFor: "never"})
	})
	plugintest.Kill(t, bash, pid)
	done := plugintest.Await(t, waiting)
	if done.Err != nil { // it came after the job was forgotten
		plugintest.RequireCode(t, done.Err, shared.ErrNotFound)
		return
	}
	assert.Equal(t, shared.StatusKilled, done.Result.Status)
	assert.Equal(t, shared.CauseKill, done.Result.Cause)
}

func TestCheckListsLongCommands(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	command := ": " + strings.Repeat("x", shared.MaxCommandBytes-2)
	for range 8 {
		plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground})
	}
	list := plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs})
	require.Len(t, list.Jobs, 8)
	for _, job := range list.Jobs {
		assert.Equal(t, command, job.Command)
	}
}
