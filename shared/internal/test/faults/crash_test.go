//go:build unix

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

func TestACrashAndWhatFollows(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	plugin := bash.PluginPID()
	ready := filepath.Join(t.TempDir(), "ready")
	running := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "setsid sleep 1000 & echo $$ $! >" + ready + "; wait"})
	pids := plugintest.Numbers(t, plugintest.AwaitFile(t, ready))
	job := plugintest.Background(t, bash, "echo precious; "+plugintest.Forever)
	path := plugintest.AwaitText(t, bash, job.PID, "precious").Stdout.Path
	killed := plugintest.Background(t, bash, plugintest.Forever).PID
	plugintest.Kill(t, bash, killed)
	waiting := plugintest.Start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: job.PID, Wait: 1000 * plugintest.Hang})
	})

	require.NoError(t, syscall.Kill(plugin, syscall.SIGKILL))
	t.Run("calls under way fail with ErrCrashed", func(t *testing.T) {
		done := plugintest.Await(t, running)
		assert.Nil(t, done.Result)
		plugintest.RequireCode(t, done.Err, shared.ErrCrashed)
		for _, text := range []string{"a call under way may have run", "the next call starts a fresh plugin", filepath.Dir(filepath.Dir(path))} {
			assert.Contains(t, done.Err.Error(), text)
		}
		_, pattern, _ := strings.Cut(done.Err.Error(), "what was logged is in ")
		logs, err := filepath.Glob(filepath.Join(pattern, "*.log"))
		require.NoError(t, err)
		assert.Contains(t, logs, path)
		done = plugintest.Await(t, waiting)
		plugintest.RequireErrorIsOneOf(t, done.Err, shared.ErrCrashed, shared.ErrNotFound)
	})
	t.Run("the commands are gone", func(t *testing.T) { plugintest.AwaitDeath(t, append(pids, plugin, job.PID)...) })
	t.Run("the next call gets a fresh plugin", func(t *testing.T) {
		assert.Equal(t, "fresh\n", plugintest.Run(t, bash, "echo fresh").Stdout.Content)
		assert.NotEqual(t, plugin, bash.PluginPID())
		assert.True(t, plugintest.Alive(bash.PluginPID()))
	})
	t.Run("calls for a job of the old one say what became of it", func(t *testing.T) {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: job.PID})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
		require.ErrorIs(t, err, shared.ErrCrashed)
		assert.Contains(t, err.Error(), path)
		assert.Contains(t, err.Error(), "crashed")
		_, err = bash.Kill(t.Context(), shared.KillRequest{PID: job.PID})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
		require.ErrorIs(t, err, shared.ErrCrashed)
		assert.Contains(t, err.Error(), path)
		assert.Equal(t, "precious\n", plugintest.ReadFile(t, path), "the log is still there")
	})
	t.Run("but not for one that had been killed", func(t *testing.T) {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: killed})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
		assert.NotErrorIs(t, err, shared.ErrCrashed)
	})
	t.Run("the list is empty", func(t *testing.T) {
		assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	})
}

// A plugin that crashes by itself leaves the reason beside its logs.
func TestThePluginsLastWordsAreKept(t *testing.T) {
	t.Parallel()
	for name, retention := range map[string]time.Duration{"kept": 0, "not with a negative retention": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bash := plugintest.LaunchWith(t, host.LaunchConfig{LogRetention: retention})
			ready := filepath.Join(t.TempDir(), "ready")
			running := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo >" + ready + "; " + plugintest.Forever})
			plugintest.AwaitFile(t, ready)
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGABRT))
			done := plugintest.Await(t, running)
			plugintest.RequireCode(t, done.Err, shared.ErrCrashed)
			_, pattern, says := strings.Cut(done.Err.Error(), "what was logged is in ")
			require.Equal(t, retention == 0, says)
			if says {
				var files []string
				plugintest.Eventually(t, "the file", func() bool { files, _ = filepath.Glob(filepath.Join(pattern, "crash.txt")); return len(files) == 1 })
				plugintest.Eventually(t, "its text", func() bool { return strings.Contains(plugintest.ReadFile(t, files[0]), "goroutine ") })
				assert.Contains(t, plugintest.ReadFile(t, files[0]), "SIGABRT")
			}
		})
	}
}

func TestJobsKilledAllAtOnceDidNotCrash(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, plugintest.Forever).PID
	_, err := bash.Kill(t.Context(), shared.KillRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	plugintest.Crash(t, bash)
	_, err = bash.Check(t.Context(), shared.CheckRequest{PID: pid})
	plugintest.RequireCode(t, err, shared.ErrNotFound)
	assert.NotErrorIs(t, err, shared.ErrCrashed)
}

func TestACrashBetweenCallsIsNotNoticed(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for range 3 {
		plugintest.Crash(t, bash)
		assert.Equal(t, "here\n", plugintest.Run(t, bash, "echo here").Stdout.Content)
	}
	assert.NotZero(t, bash.PluginPID())
}

func TestManyCallsAfterACrashShareOneFreshPlugin(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	plugintest.Crash(t, bash)
	var wg sync.WaitGroup
	parents := make([]string, 16)
	for i := range parents {
		wg.Go(func() {
			if r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "echo $PPID"}); assert.NoError(t, err) {
				parents[i] = r.Stdout.Content
			}
		})
	}
	wg.Wait()
	for _, parent := range parents {
		assert.Equal(t, fmt.Sprintf("%d\n", bash.PluginPID()), parent)
	}
}

func TestAPluginThatCannotBeStartedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.Link(plugintest.Path, path))
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir()})
	require.NoError(t, err)
	defer bash.Close()
	require.NoError(t, os.Remove(path))
	assert.Equal(t, "runs on\n", plugintest.Run(t, bash, "echo runs on").Stdout.Content)
	plugintest.Crash(t, bash)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrStart).Message, path)
	require.NoError(t, os.Link(plugintest.Path, path))
	assert.Equal(t, "back\n", plugintest.Run(t, bash, "echo back").Stdout.Content)
}

// hangAtTheSecondStart launches a plugin, crashes it and returns when a call is
// waiting for a fresh one that never gets ready: the call, and the pid.
func hangAtTheSecondStart(t *testing.T, ctx context.Context) (*host.Client, <-chan plugintest.Outcome, int) {
	t.Helper()
	first := filepath.Join(t.TempDir(), "first")
	path := plugintest.Script(t, "if [ -e "+first+" ]; then echo $$ >"+first+"; exec sleep 1000; fi; : >"+first+"; exec "+plugintest.Path+` "$@"`)
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir(), StartTimeout: 1000 * plugintest.Hang})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bash.Close()) })
	plugintest.Crash(t, bash)
	running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "true"})
	return bash, running, plugintest.Number(t, plugintest.AwaitFile(t, first))
}

func TestCloseDuringAStartThatHangs(t *testing.T) {
	t.Parallel()
	bash, running, pid := hangAtTheSecondStart(t, t.Context())
	require.NoError(t, bash.Close())
	plugintest.RequireCode(t, plugintest.Await(t, running).Err, shared.ErrClosed)
	plugintest.AwaitDeath(t, pid)
}

func TestCancellationDuringAStartThatHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := plugintest.Cancelable(t)
	_, running, pid := hangAtTheSecondStart(t, ctx)
	cancel()
	done := plugintest.Await(t, running)
	assert.Nil(t, done.Result)
	require.ErrorIs(t, done.Err, context.Canceled)
	plugintest.AwaitDeath(t, pid)
}

// A plugin that a signal ends while a Client uses it is not the Client's end.
func TestAPluginThatIsEndedFromOutsideIsReplaced(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	plugintest.Background(t, bash, "trap '' TERM; echo up; "+plugintest.Forever) // makes its end take a while
	first := bash.PluginPID()
	require.NoError(t, syscall.Kill(first, syscall.SIGTERM))
	for begin := time.Now(); bash.PluginPID() == first; {
		require.Less(t, time.Since(begin), plugintest.Hang)
		r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "echo hi"})
		if err != nil {
			plugintest.RequireCode(t, err, shared.ErrCrashed)
			continue
		}
		if r.Status != shared.StatusCompleted { // it was under way
			assert.Equal(t, shared.CauseClose, r.Cause)
			continue
		}
		assert.Equal(t, "hi\n", r.Stdout.Content)
	}
	assert.Equal(t, "hi\n", plugintest.Run(t, bash, "echo hi").Stdout.Content)
}
