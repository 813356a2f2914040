package shared_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
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
	eventually(t, "live output", func() bool { return strings.Contains(r.String(), text) })
}

func TestLiveOutputIsTheRawBytes(t *testing.T) {
	t.Parallel()
	var stdout, stderr recorder
	r := execute(t, launch(t), shared.ExecuteRequest{
		Command: `printf '\033[31mred\033[0m\r\n\377'; printf 'err\007' >&2`, Stdout: &stdout, Stderr: &stderr,
	})
	assert.Equal(t, "\033[31mred\033[0m\r\n\xff", stdout.String(), "complete when Execute returns")
	assert.Equal(t, "err\a", stderr.String())
	assert.Equal(t, "red\n\uFFFD", r.Stdout.Content)
}

func TestLiveOutputOfOneStream(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	var one recorder
	r := execute(t, bash, shared.ExecuteRequest{Command: "echo out; echo err >&2", Stderr: &one})
	assert.Equal(t, "err\n", one.String())
	assert.Equal(t, "out\n", r.Stdout.Content)
	var merged, unused recorder
	execute(t, bash, shared.ExecuteRequest{Command: "echo out; echo err >&2", Merge: true, Stdout: &merged, Stderr: &unused})
	assert.Equal(t, "out\nerr\n", merged.String())
	assert.Empty(t, unused.String())
}

func TestLiveOutputComesWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	var stdout recorder
	running := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: "printf prompt; " + g.wait() + "; echo done", Stdout: &stdout})
	stdout.await(t, "prompt")
	g.open(t)
	require.NoError(t, await(t, running).err)
	assert.Equal(t, "promptdone\n", stdout.String())
}

func TestLiveOutputGoesOnWithTheJob(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	var stdout, stderr recorder
	r := execute(t, bash, shared.ExecuteRequest{
		Command: g.wait() + "; echo out; echo err >&2; " + g.wait() + "; echo last",
		Mode:    shared.ModeBackground, Stdout: &stdout, Stderr: &stderr,
	})
	g.open(t)
	stdout.await(t, "out\n")
	stderr.await(t, "err\n")
	g.open(t)
	stdout.await(t, "last\n")
	assert.Equal(t, "out\nlast\n", awaitEnd(t, bash, r.PID).Stdout.Content)
}

func TestLiveOutputGoesOnWithLeftovers(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	var stdout recorder
	execute(t, bash, shared.ExecuteRequest{Command: "{ " + g.wait() + "; echo late; } & echo early", Stdout: &stdout})
	stdout.await(t, "early\n")
	g.open(t)
	stdout.await(t, "late\n")
}

func TestLiveOutputOfAFloodIsComplete(t *testing.T) {
	t.Parallel()
	var stdout recorder
	execute(t, launch(t), shared.ExecuteRequest{Command: "seq 4000000", Stdout: &stdout})
	eventually(t, "all of it", func() bool { return strings.HasSuffix(stdout.String(), "\n4000000\n") })
	assert.True(t, seq(1, 4000000) == stdout.String(), "in order and complete")
}

// stuck is a live writer that never comes back.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return 0, io.ErrClosedPipe
}

func TestAStuckLiveWriterDelaysNothing(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	writer := make(stuck)
	defer close(writer)
	r := execute(t, bash, shared.ExecuteRequest{Command: "seq 2000000; exit 3", Stdout: writer})
	assert.Equal(t, 3, r.ExitCode)
	assert.EqualValues(t, 2000000, r.Stdout.TotalLines)
	assert.Equal(t, "alive\n", run(t, bash, "echo alive").Stdout.Content)
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
	bash := launch(t)
	for _, err := range []error{errors.New("no more"), nil} {
		g := newGate(t)
		writer := failing{err: err}
		running := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo one; " + g.wait() + "; echo two; exit 3", Stdout: &writer})
		writer.calls.await(t, "one\n")
		g.open(t)
		done := await(t, running)
		require.NoError(t, done.err)
		assert.Equal(t, 3, done.result.ExitCode)
		assert.Equal(t, "one\ntwo\n", done.result.Stdout.Content)
		assert.Equal(t, "one\n", writer.calls.String())
	}
}

// slow is a live writer that reads as fast as the test lets it.
type slow struct {
	recorder
	turn, ended chan struct{}
}

func (s *slow) EndOutput() { close(s.ended) }

func (s *slow) Write(p []byte) (int, error) {
	<-s.turn
	return s.recorder.Write(p)
}

func TestWhatASlowLiveWriterMissesIsCounted(t *testing.T) {
	t.Parallel()
	bash := launchWith(t, shared.LaunchConfig{MaxSessionLogBytes: 1 << 20})
	writer := &slow{turn: make(chan struct{}), ended: make(chan struct{})}
	r := execute(t, bash, shared.ExecuteRequest{Command: "seq 10000000", Stdout: writer})
	assert.EqualValues(t, 10000000, r.Stdout.TotalLines)
	close(writer.turn)
	await(t, writer.ended)
	rest := seq(1, 10000000)
	parts := regexp.MustCompile(`\n\[… (\d+) bytes skipped …\]\n`).FindAllStringSubmatchIndex(writer.String(), -1)
	require.NotEmpty(t, parts)
	done := 0
	for _, at := range parts {
		text := writer.String()[done:at[0]]
		require.True(t, strings.HasPrefix(rest, text))
		skipped, err := strconv.Atoi(writer.String()[at[2]:at[3]])
		require.NoError(t, err)
		rest, done = rest[len(text)+skipped:], at[1]
	}
	assert.True(t, rest == writer.String()[done:], "what is not left out is what was written")
}

// What a reader has not taken waits, in the log or, where that is not what was
// written, beside it.
func TestASlowLiveWriterMissesNothingThatTheDiskHolds(t *testing.T) {
	t.Parallel()
	const many, fewer = 3000000, 1000000 // 23 MB; 16 MB with colours, which even a stuck reader may be behind
	coloured := "\x1b[32m" + strings.ReplaceAll(strings.TrimSuffix(seq(1, fewer), "\n"), "\n", "\x1b[m\n\x1b[32m") + "\x1b[m\n"
	for name, test := range map[string]struct {
		command, want string
		lines         int
	}{
		"text":          {fmt.Sprintf("seq %d", many), seq(1, many), many},
		"coloured text": {fmt.Sprintf(`seq -f $'\e[32m%%.0f\e[m' %d`, fewer), coloured, fewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writer := &slow{turn: make(chan struct{}), ended: make(chan struct{})}
			r := execute(t, launch(t), shared.ExecuteRequest{Command: test.command, Stdout: writer})
			assert.EqualValues(t, test.lines, r.Stdout.TotalLines)
			close(writer.turn)
			await(t, writer.ended)
			assert.True(t, test.want == writer.String())
		})
	}
}

// surge is a command that writes surgeSize bytes as fast as it can, none of which
// are in the log as they came.
const (
	surgeSize = 150_000_000
	surge     = "head -c 150000000 /dev/zero"
)

func TestWhatIsLeftOutOfASurgeIsCounted(t *testing.T) {
	t.Parallel()
	writer := &slow{turn: make(chan struct{}), ended: make(chan struct{})}
	close(writer.turn)
	execute(t, launch(t), shared.ExecuteRequest{Command: surge + "; echo; echo done", Stdout: writer})
	await(t, writer.ended)
	assert.True(t, strings.HasSuffix(writer.String(), "\x00\ndone\n") || strings.HasSuffix(writer.String(), "…]\ndone\n"))
	markers := regexp.MustCompile(`\n\[… (\d+) bytes skipped …\]\n`)
	counted := 0
	for _, part := range markers.FindAllStringSubmatch(writer.String(), -1) {
		skipped, err := strconv.Atoi(part[1])
		require.NoError(t, err)
		counted += skipped
	}
	assert.Equal(t, surgeSize+len("\ndone\n"), counted+len(markers.ReplaceAllString(writer.String(), "")))
	t.Logf("%d bytes left out", counted)
}

func TestAWholeOutputMissesNothingOfASurge(t *testing.T) {
	t.Parallel()
	writer := &slow{turn: make(chan struct{}), ended: make(chan struct{})}
	close(writer.turn)
	execute(t, launch(t), shared.ExecuteRequest{Command: surge, Stdout: shared.WholeOutput{Writer: writer}})
	await(t, writer.ended)
	assert.True(t, writer.String() == strings.Repeat("\x00", surgeSize))
}

// ender is a live writer that wants to know of the end.
type ender struct {
	recorder
	ended chan struct{}
}

func (e *ender) EndOutput() { close(e.ended) }

func TestALiveWriterIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	g := newGate(t)
	writers := map[string]*ender{}
	for name, req := range map[string]shared.ExecuteRequest{
		"of a command":   {Command: "echo one; echo last"},
		"of a job":       {Command: "echo one; " + g.wait() + "; echo last", Mode: shared.ModeBackground},
		"of leftovers":   {Command: "{ " + g.wait() + "; echo last; } & echo one"},
		"of what is cut": {Command: "echo one; echo last; " + forever, Mode: shared.ModeTerminate, Timeout: soon},
	} {
		writers[name] = &ender{ended: make(chan struct{})}
		req.Stdout = writers[name]
		execute(t, bash, req)
	}
	g.open(t)
	g.open(t)
	for name, writer := range writers {
		await(t, writer.ended)
		assert.Equal(t, "one\nlast\n", writer.String(), name)
	}
}

func TestAFailingLiveWriterLeavesTheOtherAlone(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	var stderr recorder
	execute(t, bash, shared.ExecuteRequest{Command: "for i in 1 2 3; do echo out $i; echo err $i >&2; done", Stdout: new(failing), Stderr: &stderr})
	stderr.await(t, "err 3\n")
	assert.Equal(t, "err 1\nerr 2\nerr 3\n", stderr.String())
}

// A writer is the caller's own again when Execute has failed: the race detector
// sees where it is not.
func TestNothingIsWrittenOnceExecuteHasFailed(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	for range 5 {
		run(t, bash, "true")
		plugin := bash.PluginPID()
		started := make(chan struct{})
		var once sync.Once
		var text bytes.Buffer
		writer := writerFunc(func(p []byte) (int, error) {
			once.Do(func() { close(started) })
			return text.Write(p)
		})
		done := start(func() (*shared.Result, error) {
			return bash.Execute(t.Context(), shared.ExecuteRequest{Command: "yes", Stdout: writer})
		})
		await(t, started)
		require.NoError(t, syscall.Kill(plugin, syscall.SIGKILL))
		requireCode(t, await(t, done).err, shared.ErrCrashed)
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

func TestNobodyIsToldOfTheEndWhereExecuteFails(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	writer := &ender{ended: make(chan struct{})}
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "", Stdout: writer})
	requireCode(t, err, shared.ErrInvalid)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "kill -9 $PPID; " + forever, Stdout: writer})
	requireCode(t, err, shared.ErrCrashed)
	run(t, bash, "true")
	select {
	case <-writer.ended:
		assert.Fail(t, "told")
	default:
	}
}
