//go:build unix

package shared_test

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
	bash := launch(t)
	plugin := bash.PluginPID()
	ready := filepath.Join(t.TempDir(), "ready")
	running := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: "setsid sleep 1000 & echo $$ $! >" + ready + "; wait"})
	pids := numbers(t, awaitFile(t, ready))
	job := background(t, bash, "echo precious; "+forever)
	path := awaitText(t, bash, job.PID, "precious").Stdout.Path
	killed := background(t, bash, forever).PID
	kill(t, bash, killed)
	waiting := start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: job.PID, Wait: 1000 * hang})
	})

	require.NoError(t, syscall.Kill(plugin, syscall.SIGKILL))
	t.Run("calls under way fail with ErrCrashed", func(t *testing.T) {
		done := await(t, running)
		assert.Nil(t, done.result)
		requireCode(t, done.err, shared.ErrCrashed)
		for _, text := range []string{"a call under way may have run", "the next call starts a fresh plugin", filepath.Dir(filepath.Dir(path))} {
			assert.Contains(t, done.err.Error(), text)
		}
		_, pattern, _ := strings.Cut(done.err.Error(), "what was logged is in ")
		logs, err := filepath.Glob(filepath.Join(pattern, "*.log"))
		require.NoError(t, err)
		assert.Contains(t, logs, path)
		done = await(t, waiting)
		requireErrorIsOneOf(t, done.err, shared.ErrCrashed, shared.ErrNotFound)
	})
	t.Run("the commands are gone", func(t *testing.T) { awaitDeath(t, append(pids, plugin, job.PID)...) })
	t.Run("the next call gets a fresh plugin", func(t *testing.T) {
		assert.Equal(t, "fresh\n", run(t, bash, "echo fresh").Stdout.Content)
		assert.NotEqual(t, plugin, bash.PluginPID())
		assert.True(t, plugintest.Alive(bash.PluginPID()))
	})
	t.Run("calls for a job of the old one say what became of it", func(t *testing.T) {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: job.PID})
		requireCode(t, err, shared.ErrNotFound)
		require.ErrorIs(t, err, shared.ErrCrashed)
		assert.Contains(t, err.Error(), path)
		assert.Contains(t, err.Error(), "crashed")
		_, err = bash.Kill(t.Context(), shared.KillRequest{PID: job.PID})
		requireCode(t, err, shared.ErrNotFound)
		require.ErrorIs(t, err, shared.ErrCrashed)
		assert.Contains(t, err.Error(), path)
		assert.Equal(t, "precious\n", readFile(t, path), "the log is still there")
	})
	t.Run("but not for one that had been killed", func(t *testing.T) {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: killed})
		requireCode(t, err, shared.ErrNotFound)
		assert.NotErrorIs(t, err, shared.ErrCrashed)
	})
	t.Run("the list is empty", func(t *testing.T) {
		assert.Empty(t, check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	})
}

// A plugin that crashes by itself leaves the reason beside its logs.
func TestThePluginsLastWordsAreKept(t *testing.T) {
	t.Parallel()
	for name, retention := range map[string]time.Duration{"kept": 0, "not with a negative retention": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bash := launchWith(t, host.LaunchConfig{LogRetention: retention})
			ready := filepath.Join(t.TempDir(), "ready")
			running := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo >" + ready + "; " + forever})
			awaitFile(t, ready)
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGABRT))
			done := await(t, running)
			requireCode(t, done.err, shared.ErrCrashed)
			_, pattern, says := strings.Cut(done.err.Error(), "what was logged is in ")
			require.Equal(t, retention == 0, says)
			if says {
				var files []string
				eventually(t, "the file", func() bool { files, _ = filepath.Glob(filepath.Join(pattern, "crash.txt")); return len(files) == 1 })
				eventually(t, "its text", func() bool { return strings.Contains(readFile(t, files[0]), "goroutine ") })
				assert.Contains(t, readFile(t, files[0]), "SIGABRT")
			}
		})
	}
}

func TestJobsKilledAllAtOnceDidNotCrash(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	pid := background(t, bash, forever).PID
	_, err := bash.Kill(t.Context(), shared.KillRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	crash(t, bash)
	_, err = bash.Check(t.Context(), shared.CheckRequest{PID: pid})
	requireCode(t, err, shared.ErrNotFound)
	assert.NotErrorIs(t, err, shared.ErrCrashed)
}

// crash kills the plugin and returns when the client can know.
func crash(t *testing.T, bash *host.Client) {
	t.Helper()
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
	eventually(t, "the plugin's end", func() bool { return bash.PluginPID() == 0 })
}

func TestACrashBetweenCallsIsNotNoticed(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	for range 3 {
		crash(t, bash)
		assert.Equal(t, "here\n", run(t, bash, "echo here").Stdout.Content)
	}
	assert.NotZero(t, bash.PluginPID())
}

func TestManyCallsAfterACrashShareOneFreshPlugin(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	crash(t, bash)
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
	require.NoError(t, os.Link(pluginPath, path))
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir()})
	require.NoError(t, err)
	defer bash.Close()
	require.NoError(t, os.Remove(path))
	assert.Equal(t, "runs on\n", run(t, bash, "echo runs on").Stdout.Content)
	crash(t, bash)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	assert.Contains(t, requireCode(t, err, shared.ErrStart).Message, path)
	require.NoError(t, os.Link(pluginPath, path))
	assert.Equal(t, "back\n", run(t, bash, "echo back").Stdout.Content)
}

// hangAtTheSecondStart launches a plugin, crashes it and returns when a call is
// waiting for a fresh one that never gets ready: the call, and the pid.
func hangAtTheSecondStart(t *testing.T, ctx context.Context) (*host.Client, <-chan outcome, int) {
	t.Helper()
	first := filepath.Join(t.TempDir(), "first")
	path := script(t, "if [ -e "+first+" ]; then echo $$ >"+first+"; exec sleep 1000; fi; : >"+first+"; exec "+pluginPath+` "$@"`)
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir(), StartTimeout: 1000 * hang})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bash.Close()) })
	crash(t, bash)
	running := startExecute(ctx, bash, shared.ExecuteRequest{Command: "true"})
	return bash, running, number(t, awaitFile(t, first))
}

func TestCloseDuringAStartThatHangs(t *testing.T) {
	t.Parallel()
	bash, running, pid := hangAtTheSecondStart(t, t.Context())
	require.NoError(t, bash.Close())
	requireCode(t, await(t, running).err, shared.ErrClosed)
	awaitDeath(t, pid)
}

func TestCancellationDuringAStartThatHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := cancelable(t)
	_, running, pid := hangAtTheSecondStart(t, ctx)
	cancel()
	done := await(t, running)
	assert.Nil(t, done.result)
	require.ErrorIs(t, done.err, context.Canceled)
	awaitDeath(t, pid)
}

// A plugin that a signal ends while a Client uses it is not the Client's end.
func TestAPluginThatIsEndedFromOutsideIsReplaced(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	background(t, bash, "trap '' TERM; echo up; "+forever) // makes its end take a while
	first := bash.PluginPID()
	require.NoError(t, syscall.Kill(first, syscall.SIGTERM))
	for begin := time.Now(); bash.PluginPID() == first; {
		require.Less(t, time.Since(begin), hang)
		r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "echo hi"})
		if err != nil {
			requireCode(t, err, shared.ErrCrashed)
			continue
		}
		if r.Status != shared.StatusCompleted { // it was under way
			assert.Equal(t, shared.CauseClose, r.Cause)
			continue
		}
		assert.Equal(t, "hi\n", r.Stdout.Content)
	}
	assert.Equal(t, "hi\n", run(t, bash, "echo hi").Stdout.Content)
}
