//go:build unix

package contract

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// recorder is a live writer that a test can wait for.
type recorder struct {
	mu    sync.Mutex // guards what follows
	text  strings.Builder
	calls int
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return r.text.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (r *recorder) await(t *testing.T, text string) {
	t.Helper()
	plugintest.Eventually(t, "live output", func() bool { return strings.Contains(r.String(), text) })
}

func TestLiveOutputIsTheRawBytes(t *testing.T) {
	t.Parallel()
	var stdout, stderr recorder
	r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{
		Command: `printf '\033[31mred\033[0m\r\n\377'; printf 'err\007' >&2`, Stdout: &stdout, Stderr: &stderr,
	})
	assert.Equal(t, "\033[31mred\033[0m\r\n\xff", stdout.String(), "complete when Execute returns")
	assert.Equal(t, "err\a", stderr.String())
	assert.Equal(t, "red\n\uFFFD", r.Stdout.Content)
}

func TestLiveOutputOfOneStream(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	var one recorder
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo out; echo err >&2", Stderr: &one})
	assert.Equal(t, "err\n", one.String())
	assert.Equal(t, "out\n", r.Stdout.Content)
	var merged, unused recorder
	plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo out; echo err >&2", Merge: true, Stdout: &merged, Stderr: &unused})
	assert.Equal(t, "out\nerr\n", merged.String())
	assert.Empty(t, unused.String())
}

func TestLiveOutputComesWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	var stdout recorder
	running := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "printf prompt; " + g.Wait() + "; echo done", Stdout: &stdout})
	stdout.await(t, "prompt")
	g.Open(t)
	require.NoError(t, plugintest.Await(t, running).Err)
	assert.Equal(t, "promptdone\n", stdout.String())
}

func TestLiveOutputGoesOnWithTheJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	var stdout, stderr recorder
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{
		Command: g.Wait() + "; echo out; echo err >&2; " + g.Wait() + "; echo last",
		Mode:    shared.ModeBackground, Stdout: &stdout, Stderr: &stderr,
	})
	g.Open(t)
	stdout.await(t, "out\n")
	stderr.await(t, "err\n")
	g.Open(t)
	stdout.await(t, "last\n")
	assert.Equal(t, "out\nlast\n", plugintest.AwaitEnd(t, bash, r.PID).Stdout.Content)
}

func TestLiveOutputGoesOnWithLeftovers(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	var stdout recorder
	plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "{ " + g.Wait() + "; echo late; } & echo early", Stdout: &stdout})
	stdout.await(t, "early\n")
	g.Open(t)
	stdout.await(t, "late\n")
}

// stuck is a live writer that never comes back.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return 0, io.ErrClosedPipe
}

func TestAStuckLiveWriterDelaysNothing(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	writer := make(stuck)
	defer close(writer)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 2000000; exit 3", Stdout: writer})
	assert.Equal(t, 3, r.ExitCode)
	assert.EqualValues(t, 2000000, r.Stdout.TotalLines)
	assert.Equal(t, "alive\n", plugintest.Run(t, bash, "echo alive").Stdout.Content)
}

// failing is a live writer that does not want more.
type failing struct {
	calls recorder
	err   error // nil: it only takes less than it should
}

func (f *failing) Write(p []byte) (int, error) {
	_, _ = f.calls.Write(p)
	return len(p) - 1, f.err
}

func TestAFailingLiveWriterEndsTheCopyAlone(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, err := range []error{errors.New("no more"), nil} {
		g := plugintest.NewGate(t)
		writer := failing{err: err}
		running := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo one; " + g.Wait() + "; echo two; exit 3", Stdout: &writer})
		writer.calls.await(t, "one\n")
		g.Open(t)
		done := plugintest.Await(t, running)
		require.NoError(t, done.Err)
		assert.Equal(t, 3, done.Result.ExitCode)
		assert.Equal(t, "one\ntwo\n", done.Result.Stdout.Content)
		assert.Equal(t, "one\n", writer.calls.String())
	}
}

// slow is a live writer that takes nothing until the test lets it.
type slow struct {
	recorder
	gate chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.gate
	return s.recorder.Write(p)
}

func TestWhatASlowLiveWriterMissesIsCounted(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	writer := &slow{gate: make(chan struct{})}
	g := plugintest.NewGate(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 2000000; " + g.Wait() + "; echo last", Mode: shared.ModeBackground, Stdout: writer})
	plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang, WaitFor: "(?m)^2000000$"})
	close(writer.gate)
	writer.await(t, "skipped …]\n")
	g.Open(t)
	writer.await(t, "last\n")
	r = plugintest.AwaitEnd(t, bash, r.PID)
	text := writer.String()
	parts := regexp.MustCompile(`\n\[… (\d+) bytes skipped …\]\n`).FindAllStringSubmatchIndex(text, -1)
	require.NotEmpty(t, parts)
	rest, done, missed := plugintest.Seq(1, 2000000)+"last\n", 0, 0
	for _, at := range parts {
		part := text[done:at[0]]
		require.True(t, strings.HasPrefix(rest, part))
		skipped := plugintest.Number(t, text[at[2]:at[3]])
		missed += skipped
		rest, done = rest[len(part)+skipped:], at[1]
	}
	assert.True(t, rest == text[done:], "everything else is what was written")
	assert.EqualValues(t, missed, r.Stdout.LiveSkipped)
	assert.Zero(t, r.Stderr.LiveSkipped)
}

func TestALosslessWriterMissesNothing(t *testing.T) {
	t.Parallel()
	writer := &slow{gate: make(chan struct{})}
	running := plugintest.StartExecute(t.Context(), plugintest.Launch(t), shared.ExecuteRequest{Command: "seq 2000000; echo err >&2", Stdout: writer, Lossless: true})
	select {
	case <-running:
		assert.Fail(t, "it does not wait")
	case <-time.After(time.Second):
	}
	close(writer.gate)
	done := plugintest.Await(t, running)
	require.NoError(t, done.Err)
	assert.True(t, plugintest.Seq(1, 2000000) == writer.String(), "complete when Execute returns")
	assert.Zero(t, done.Result.Stdout.LiveSkipped)
}

// A writer that is stuck holds a lossless command up until its timeout, and no
// longer.
func TestALosslessCommandGoesOnAfterExecute(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, mode := range []shared.Mode{shared.ModeDetach, shared.ModeTerminate} {
		writer := make(stuck)
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 2000000", Mode: mode, Timeout: time.Second, Stdout: writer, Lossless: true})
		if mode == shared.ModeDetach {
			require.Equal(t, shared.StatusRunning, r.Status)
			r = plugintest.AwaitEnd(t, bash, r.PID)
			assert.EqualValues(t, 2000000, r.Stdout.TotalLines)
			assert.Positive(t, r.Stdout.LiveSkipped)
		} else {
			assert.Equal(t, shared.CauseTimeout, r.Cause)
		}
		close(writer)
	}
}

func TestAFailingLiveWriterLeavesTheOtherAlone(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	var stderr recorder
	plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "for i in 1 2 3; do echo out $i; echo err $i >&2; done", Stdout: new(failing), Stderr: &stderr})
	stderr.await(t, "err 3\n")
	assert.Equal(t, "err 1\nerr 2\nerr 3\n", stderr.String())
}

// A writer is the caller's own again when Execute has failed: the race detector
// sees where it is not.
func TestNothingIsWrittenOnceExecuteHasFailed(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for range 5 {
		plugintest.Run(t, bash, "true")
		plugin := bash.PluginPID()
		started := make(chan struct{})
		var once sync.Once
		var text bytes.Buffer
		writer := writerFunc(func(p []byte) (int, error) {
			once.Do(func() { close(started) })
			return text.Write(p)
		})
		done := plugintest.Start(func() (*shared.Result, error) {
			return bash.Execute(t.Context(), shared.ExecuteRequest{Command: "yes", Stdout: writer})
		})
		plugintest.Await(t, started)
		require.NoError(t, syscall.Kill(plugin, syscall.SIGKILL))
		plugintest.RequireCode(t, plugintest.Await(t, done).Err, shared.ErrCrashed)
		for range 20 {
			size := text.Len()
			text.WriteByte('\n')
			time.Sleep(time.Millisecond)
			require.Equal(t, size+1, text.Len())
		}
	}
}

// writerFunc is a writer that is a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
