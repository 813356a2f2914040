//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Calls to a stopped plugin return when their contexts end, and once it goes
// on it is as good as before.
func TestFaultStoppedPluginGoesOn(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, job, "up")
	plugintest.Stop(t, bash.PluginPID())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var calls []<-chan plugintest.Outcome
	for _, call := range []func() (*shared.Result, error){
		func() (*shared.Result, error) { // more than is sent to who does not read
			return bash.Execute(ctx, shared.ExecuteRequest{Command: "true", Env: []string{"X=" + strings.Repeat("x", 600<<10)}})
		},
		func() (*shared.Result, error) { return bash.Execute(ctx, shared.ExecuteRequest{Command: "true"}) },
		func() (*shared.Result, error) {
			return bash.Check(ctx, shared.CheckRequest{PID: job, Wait: time.Hour})
		},
		func() (*shared.Result, error) { return bash.Kill(ctx, shared.KillRequest{PID: job + 1}) },
	} {
		calls = append(calls, plugintest.Start(call))
	}
	for _, call := range calls {
		assert.ErrorIs(t, plugintest.Await(t, call).Err, context.DeadlineExceeded)
	}
	require.NoError(t, unix.Kill(bash.PluginPID(), unix.SIGCONT))
	assert.Equal(t, "well\n", plugintest.Run(t, bash, "echo well").Stdout.Content)
	assert.Equal(t, "up\n", plugintest.Kill(t, bash, job).Stdout.Content)
}

// A stopped plugin is replaced soon after it should have answered, even where
// the caller has no deadline.
func TestFaultStoppedPluginIsReplaced(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	crowd := newFaultCrowd(t)
	plugintest.Background(t, bash, crowd.command(`setsid bash -c "$p"`))
	plugin := bash.PluginPID()
	pids := append(crowd.await(1), plugin)
	plugintest.Stop(t, plugin)
	ctx, cancel := context.WithTimeout(t.Context(), plugintest.Hang/2) // more than a stopped plugin is given
	defer cancel()
	_, err := bash.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	plugintest.RequireCode(t, err, shared.ErrCrashed)
	assert.Equal(t, "back\n", plugintest.Run(t, bash, "echo back").Stdout.Content)
	crowd.awaitGone()
	plugintest.AwaitDeath(t, pids...)
}

// A plugin that is stopped while it sends a large result holds nobody either.
func TestFaultStoppedWithinAResult(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := plugintest.Background(t, bash, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo written").PID
	plugintest.AwaitText(t, bash, job, "written")
	fetched, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := bash.Check(ctx, shared.CheckRequest{PID: job, All: true, Limits: shared.Limits{MaxBytes: shared.MaxMaxBytes}})
			cancel()
			if err != nil {
				ended <- err
				return
			}
			select {
			case fetched <- struct{}{}:
			default:
			}
		}
	}()
	for range 5 {
		plugintest.Await(t, fetched)
	}
	plugintest.Stop(t, bash.PluginPID())
	err := plugintest.Await(t, ended)
	if !errors.Is(err, context.DeadlineExceeded) {
		plugintest.RequireCode(t, err, shared.ErrCrashed)
	}
}

func TestFaultStoppedCommand(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	crowd := newFaultCrowd(t)
	text := crowd.command("echo before; echo $$ >&9; kill -STOP $$; echo after")
	t.Run("detached at its timeout, it goes on later", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: text, Timeout: plugintest.Soon})
		require.Equal(t, shared.StatusRunning, r.Status)
		assert.Equal(t, "before\n", r.Stdout.Content)
		require.NoError(t, unix.Kill(r.PID, unix.SIGCONT))
		assert.Equal(t, "before\nafter\n", plugintest.AwaitEnd(t, bash, r.PID).Stdout.Content)
	})
	t.Run("killed at its timeout", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: text, Mode: shared.ModeTerminate, Timeout: plugintest.Soon})
		assert.Equal(t, shared.CauseTimeout, r.Cause)
		assert.Equal(t, "before\n", r.Stdout.Content)
	})
	t.Run("killed", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: text, Mode: shared.ModeBackground})
		crowd.await(3)
		assert.Equal(t, "before\n", plugintest.Kill(t, bash, r.PID).Stdout.Content)
	})
	crowd.awaitGone()
}

func TestFaultCommandWithoutOutputs(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo last; exec >&- 2>&-; " + plugintest.Forever, Timeout: plugintest.Soon})
	require.Equal(t, shared.StatusRunning, r.Status)
	assert.Equal(t, "last\n", r.Stdout.Content)
	assert.True(t, plugintest.Alive(r.PID))
	r = plugintest.Kill(t, bash, r.PID)
	assert.Equal(t, shared.CauseKill, r.Cause)
	assert.False(t, plugintest.Alive(r.PID))

	r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "exec >&- 2>&-; sleep 0.2; exit 5"})
	assert.Equal(t, 5, r.ExitCode, "the end of the outputs is not the end of the command")
	assert.Greater(t, r.Duration, 150*time.Millisecond)
}

// Commands that never stop writing, with nobody reading, hold up neither their
// own timeout nor other calls.
func TestFaultNeverEndingWriters(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{MaxLogBytes: 1 << 20})
	stuck := make(chan struct{})
	defer close(stuck)
	var calls []<-chan plugintest.Outcome
	for _, command := range []string{"yes", "yes >&2", "tr '\\0' '\\r' </dev/zero", "setsid yes & setsid yes & wait", "cat /dev/urandom"} {
		calls = append(calls, plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{
			Command: command, Mode: shared.ModeTerminate, Timeout: 500 * time.Millisecond,
			Stdout: faultStuckWriter(stuck), Stderr: faultStuckWriter(stuck),
		}))
	}
	var others faultTimes
	for i := range 20 {
		begin := time.Now()
		assert.Equal(t, fmt.Sprintln(i), plugintest.Run(t, bash, fmt.Sprint("echo ", i)).Stdout.Content)
		others.add(time.Since(begin))
	}
	for _, call := range calls {
		done := plugintest.Await(t, call)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.CauseTimeout, done.Result.Cause)
		assert.Less(t, done.Result.Duration, plugintest.Hang/2)
	}
	others.log(t, "a call beside five never-ending writers, on a loaded machine", 0)
}

// faultStuckWriter never returns from Write until it is closed.
type faultStuckWriter <-chan struct{}

func (w faultStuckWriter) Write(p []byte) (int, error) {
	<-w
	return len(p), nil
}

// Close within 5 s, whatever is stuck.
func TestFaultCloseIsBounded(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	for name, trouble := range map[string]func(*testing.T, *host.Client){
		"commands that ignore signals": func(t *testing.T, bash *host.Client) {
			for range 10 {
				plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "trap '' TERM INT HUP; while :; do sleep 1000; done", Mode: shared.ModeBackground})
			}
		},
		"writers and stuck readers": func(t *testing.T, bash *host.Client) {
			for range 3 {
				plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "yes", Mode: shared.ModeBackground, Stdout: faultStuckWriter(stuck)})
			}
		},
		"a stopped plugin": func(t *testing.T, bash *host.Client) { plugintest.Stop(t, bash.PluginPID()) },
		"a stopped plugin with commands": func(t *testing.T, bash *host.Client) {
			for range 10 {
				plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "setsid yes & trap '' TERM; yes", Mode: shared.ModeBackground})
			}
			plugintest.Stop(t, bash.PluginPID())
		},
		"a killed guardian": func(t *testing.T, bash *host.Client) {
			plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.Forever, Mode: shared.ModeBackground})
			require.NoError(t, unix.Kill(plugintest.Guardian(t, bash.PluginPID()), unix.SIGKILL))
		},
		"calls under way": func(t *testing.T, bash *host.Client) {
			for range 20 {
				plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: plugintest.Forever})
			}
			plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "yes", Stdout: faultStuckWriter(stuck)})
			time.Sleep(50 * time.Millisecond) // some have begun, some not
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, LogDir: t.TempDir(), MaxLogBytes: 1 << 20})
			require.NoError(t, err)
			plugin := bash.PluginPID()
			trouble(t, bash)
			children := plugintest.Children(t, plugin)
			took := faultClose(t, bash)
			t.Logf("Close with %s: %v", name, took.Round(time.Millisecond))
			plugintest.AwaitDeath(t, append(children, plugin)...)
		})
	}
}

// Close does not wait for a plugin that is just being started again and never
// gets ready.
func TestFaultCloseDuringAStuckStart(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/plugin"
	require.NoError(t, unix.Symlink(plugintest.Path, path))
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir(), StartTimeout: plugintest.Hang})
	require.NoError(t, err)
	require.NoError(t, unix.Unlink(path))
	pids := t.TempDir() + "/pids"
	require.NoError(t, unix.Symlink(plugintest.Script(t, "echo $$ >"+pids+"; exec sleep 1000"), path))
	plugintest.Crash(t, bash)
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "true"})
	starting := plugintest.Number(t, plugintest.AwaitFile(t, pids))
	took := faultClose(t, bash)
	assert.Less(t, took, 5*time.Second)
	plugintest.RequireErrorIsOneOf(t, plugintest.Await(t, call).Err, shared.ErrClosed, shared.ErrStart)
	plugintest.AwaitDeath(t, starting)
}

// A writer that is slow loses live bytes, never the command's time or its log.
func TestFaultSlowLiveReader(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	defer close(stuck)
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 1000000", Stdout: faultStuckWriter(stuck)})
	assert.EqualValues(t, 1000000, r.Stdout.TotalLines)
	assert.Equal(t, 1000000, strings.Count(plugintest.ReadFile(t, r.Stdout.Path), "\n"))
}
