//go:build unix

package contract

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

func TestKillEndsAJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for name, c := range map[string]struct {
		command string // prints "up" once it can be killed
		req     shared.KillRequest
		code    int
		signal  string
		output  string
	}{
		"with SIGTERM":         {"echo up; exec " + plugintest.Forever, shared.KillRequest{}, 143, "SIGTERM", "up\n"},
		"that cleans up":       {"trap 'echo bye; exit 7' TERM; echo up; " + plugintest.Forever + " & wait", shared.KillRequest{}, 7, "", "up\nbye\n"},
		"that ignores SIGTERM": {"trap '' TERM; echo up; while :; do sleep 1000; done", shared.KillRequest{Grace: 50 * time.Millisecond}, 137, "SIGKILL", "up\n"},
		"with SIGKILL":         {"trap 'echo never' TERM; echo up; exec " + plugintest.Forever, shared.KillRequest{Signal: syscall.SIGKILL}, 137, "SIGKILL", "up\n"},
		"with SIGINT":          {"trap 'echo int; exit 9' INT; echo up; " + plugintest.Forever + " & wait", shared.KillRequest{Signal: syscall.SIGINT}, 9, "", "up\nint\n"},
		"with SIGHUP":          {"echo up; exec " + plugintest.Forever, shared.KillRequest{Signal: syscall.SIGHUP}, 129, "SIGHUP", "up\n"},
		"that is stopped":      {"echo up; kill -STOP $$; " + plugintest.Forever, shared.KillRequest{}, 143, "SIGTERM", "up\n"},
		"that catches and stays": {
			"trap 'echo no' TERM; echo up; while :; do " + plugintest.Forever + " & wait $!; done",
			shared.KillRequest{Grace: 50 * time.Millisecond}, 137, "SIGKILL", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pid := plugintest.Background(t, bash, c.command).PID
			plugintest.AwaitText(t, bash, pid, "up")
			c.req.PID = pid
			r, err := bash.Kill(t.Context(), c.req)
			require.NoError(t, err)
			assert.Equal(t, pid, r.PID)
			assert.Equal(t, shared.StatusKilled, r.Status)
			assert.Equal(t, shared.CauseKill, r.Cause)
			assert.Equal(t, c.code, r.ExitCode)
			assert.Equal(t, c.signal, r.Signal)
			assert.Empty(t, r.Leftover)
			if c.output != "" {
				assert.Equal(t, c.output, r.Stdout.Content, "all of it, from the first byte on")
			}
			assert.False(t, plugintest.Alive(pid))
		})
	}
}

func TestKillEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, `
		sleep 1000 & echo $!
		setsid sleep 1000 & echo $!
		(trap '' TERM HUP INT; sleep 1000 & echo $!; wait) &
		bash -c 'bash -c "echo \$\$; sleep 1000; true"; true' &
		nohup setsid bash -c 'echo $$; exec sleep 1000' &
		wait`).PID
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: `(?m)(^\d+\n){5}`, All: true})
	pids := plugintest.Numbers(t, r.Stdout.Content)
	require.Len(t, pids, 5)
	plugintest.Kill(t, bash, pid)
	for _, p := range append(pids, pid) {
		assert.False(t, plugintest.Alive(p))
	}
}

func TestKillIsIdempotentWhileItLasts(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, pid, "up")
	done := make(chan plugintest.Outcome, 16)
	for range cap(done) {
		go func() {
			r, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid})
			done <- plugintest.Outcome{Result: r, Err: err}
		}()
	}
	killed := 0
	for range cap(done) {
		o := plugintest.Await(t, done)
		if o.Err != nil {
			plugintest.RequireCode(t, o.Err, shared.ErrNotFound)
			continue
		}
		killed++
		assert.Equal(t, shared.StatusKilled, o.Result.Status)
		assert.Equal(t, "up\n", o.Result.Stdout.Content)
	}
	assert.Positive(t, killed)
}

func TestKillOfEveryJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r, err := bash.Kill(t.Context(), shared.KillRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	assert.Empty(t, r.Jobs)
	g := plugintest.NewGate(t)
	running := plugintest.Background(t, bash, plugintest.Forever).PID
	finished := plugintest.Background(t, bash, "exit 3").PID
	plugintest.AwaitEnd(t, bash, finished)
	left := plugintest.Run(t, bash, plugintest.Forever+" & echo $!")
	plain := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: g.Wait() + "; echo not a job"})

	r, err = bash.Kill(t.Context(), shared.KillRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	require.Len(t, r.Jobs, 3)
	assert.Equal(t, running, r.Jobs[0].PID)
	assert.Equal(t, shared.StatusKilled, r.Jobs[0].Status)
	assert.Equal(t, finished, r.Jobs[1].PID)
	assert.Equal(t, shared.StatusFailed, r.Jobs[1].Status)
	assert.Equal(t, left.PID, r.Jobs[2].PID)
	assert.Empty(t, r.Jobs[2].Leftover)
	assert.False(t, plugintest.Alive(running))
	assert.False(t, plugintest.Alive(plugintest.Number(t, left.Stdout.Content)))
	assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)

	g.Open(t)
	done := plugintest.Await(t, plain)
	require.NoError(t, done.Err)
	assert.Equal(t, "not a job\n", done.Result.Stdout.Content)
}

func TestKillOfAJobThatFailsAtTheSameMoment(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for range 20 {
		pid := plugintest.Background(t, bash, "exit 3").PID
		r := plugintest.Kill(t, bash, pid)
		assert.Contains(t, []shared.Status{shared.StatusFailed, shared.StatusKilled}, r.Status)
		assert.Equal(t, r.Status == shared.StatusKilled, r.Cause == shared.CauseKill)
		assert.NotEqual(t, -1, r.ExitCode)
	}
}

func TestASignalFromElsewhereIsAFailure(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo up; exec "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, pid, "up")
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	r := plugintest.AwaitEnd(t, bash, pid)
	assert.Equal(t, shared.StatusFailed, r.Status)
	assert.Empty(t, r.Cause)
	assert.Equal(t, 143, r.ExitCode)
	assert.Equal(t, "SIGTERM", r.Signal)
}

// Signals without a name, as the real-time ones, are told by their number.
func TestASignalWithoutAName(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Run(t, bash, "kill -34 $$")
	assert.Equal(t, "signal 34", r.Signal)
	assert.Equal(t, 128+34, r.ExitCode)
}

// A command that ends at the very moment of its timeout was killed or was not:
// the account agrees with itself.
func TestACommandThatEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for i := range 100 {
		timeout := 10*time.Millisecond + time.Duration(i)*50*time.Microsecond
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "sleep 0.01; exit 3", Mode: shared.ModeTerminate, Timeout: timeout})
		if r.Status == shared.StatusKilled {
			assert.Equal(t, shared.CauseTimeout, r.Cause)
			assert.Contains(t, []int{3, 143}, r.ExitCode)
			continue
		}
		assert.Equal(t, shared.StatusFailed, r.Status)
		assert.Empty(t, r.Cause)
		assert.Equal(t, 3, r.ExitCode)
	}
}

// A program that blocks a signal and asks for it, as init programs and servers
// do, ends in its own way because of it, and was killed by the tool all the same.
func TestEndOfAProgramThatWaitsForTheSignal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("no perl, which can block signals: ", err)
	}
	const waits = `exec perl -MPOSIX -e '
		$term = POSIX::SigSet->new(SIGTERM); sigprocmask(SIG_BLOCK, $term); $| = 1; print "up\n";
		$got = POSIX::SigSet->new; do { select undef, undef, undef, 0.01; sigpending($got) } until $got->ismember(SIGTERM);
		print "down\n"; exit 0'`
	bash := plugintest.Launch(t)
	requireKilled := func(r *shared.Result, cause shared.Cause) {
		t.Helper()
		assert.Equal(t, shared.StatusKilled, r.Status)
		assert.Equal(t, cause, r.Cause)
		assert.Contains(t, []string{"", "SIGKILL"}, r.Signal, "by itself, or too late on a slow machine")
	}
	job := plugintest.Background(t, bash, waits)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: job.PID, Wait: time.Minute, WaitFor: "up"})
	require.NoError(t, err)
	r, err := bash.Kill(t.Context(), shared.KillRequest{PID: job.PID, Grace: time.Minute})
	require.NoError(t, err)
	requireKilled(r, shared.CauseKill)
	assert.Zero(t, r.ExitCode)
	assert.Equal(t, "up\ndown\n", r.Stdout.Content)

	ctx, cancel := context.WithCancel(t.Context())
	r, err = bash.Execute(ctx, shared.ExecuteRequest{Command: waits, Stdout: writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})})
	require.NoError(t, err)
	requireKilled(r, shared.CauseCancel)

	r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: waits, Mode: shared.ModeTerminate, Timeout: 10 * time.Second}) // perl is up by then
	requireKilled(r, shared.CauseTimeout)
}
