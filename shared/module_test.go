package shared_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// goTool runs the go command in a folder.
func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}

func TestAHostInAnotherModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/host/main.go": "main.go", "../go.sum": "go.sum"} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o600))
	}
	goTool(t, dir, "mod", "init", "example.com/host")
	goTool(t, dir, "mod", "edit", "-require=bashplugin@v0.0.0", "-replace=bashplugin="+root)
	goTool(t, dir, "build", "-o", "host", ".")
	out, err := exec.Command(filepath.Join(dir, "host"), pluginPath, "echo from another module").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "from another module\n", string(out))
}

// Another implementation of the contract: the plugin in testdata/altplugin keeps what
// its package comment promises.
func TestAltplugin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "altplugin")
	goTool(t, ".", "build", "-o", path, "./testdata/altplugin")
	log := new(buffer)
	bash, err := shared.Launch(t.Context(), shared.LaunchConfig{Path: path, Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})})
	require.NoError(t, err)
	defer bash.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)

	t.Run("directory, environment, both streams", func(t *testing.T) {
		before := time.Now()
		r := execute(t, bash, shared.ExecuteRequest{Command: `pwd; printf '\033[31m%s\033[0m' "$X" >&2; sleep 0.1`, Dir: dir, Env: []string{"X=red"}})
		assert.Equal(t, shared.Output{Content: dir + "\n", TotalLines: 1, TotalBytes: int64(len(dir)) + 1, OutputLines: 1, OutputBytes: len(dir) + 1}, r.Stdout)
		assert.Equal(t, shared.Output{Content: "red", TotalLines: 1, TotalBytes: 3, OutputLines: 1, OutputBytes: 3}, r.Stderr)
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Equal(t, dir, r.Dir)
		assert.Positive(t, r.PID)
		assert.WithinRange(t, r.Started, before.Add(-time.Millisecond), time.Now())
		assert.GreaterOrEqual(t, r.Duration, 100*time.Millisecond)
	})
	t.Run("a signal from elsewhere", func(t *testing.T) {
		r := run(t, bash, "kill -TERM $$")
		assert.Equal(t, []any{shared.StatusFailed, shared.Cause(""), 143, "SIGTERM"}, []any{r.Status, r.Cause, r.ExitCode, r.Signal})
	})
	t.Run("timeout", func(t *testing.T) {
		r := execute(t, bash, shared.ExecuteRequest{Command: "echo begun; sleep 1000 | cat", Timeout: 300 * time.Millisecond})
		assert.Equal(t, []any{shared.StatusKilled, shared.CauseTimeout, 137, "SIGKILL"}, []any{r.Status, r.Cause, r.ExitCode, r.Signal})
		assert.Equal(t, "begun\n", r.Stdout.Content)
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := cancelable(t)
		ready := filepath.Join(t.TempDir(), "ready")
		running := startExecute(ctx, bash, shared.ExecuteRequest{Command: "echo begun; sleep 1000 & echo $$ $! >" + ready + "; wait"})
		pids := numbers(t, awaitFile(t, ready))
		cancel()
		done := await(t, running)
		require.NoError(t, done.err)
		assert.Equal(t, []any{shared.StatusKilled, shared.CauseCancel, 137}, []any{done.result.Status, done.result.Cause, done.result.ExitCode})
		assert.Equal(t, "begun\n", done.result.Stdout.Content)
		awaitDeath(t, pids...)

		r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "true"})
		require.NoError(t, err)
		assert.Equal(t, []any{0, shared.StatusKilled, shared.CauseCancel, -1}, []any{r.PID, r.Status, r.Cause, r.ExitCode})
	})
	t.Run("what it refuses", func(t *testing.T) {
		for _, req := range []shared.ExecuteRequest{{Mode: shared.ModeBackground}, {Merge: true}, {Limits: shared.Limits{MaxLines: 5}}, {Timeout: -1}} {
			_, err := bash.Execute(t.Context(), req)
			requireCode(t, err, shared.ErrInvalid)
		}
		_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Dir: "/no/such/dir"})
		requireCode(t, err, shared.ErrStart)
	})
	t.Run("its stderr is open to commands, and the host survives what they write there", func(t *testing.T) {
		assert.Equal(t, "survived\n", run(t, bash, `echo '{"@message":5}' >/proc/$PPID/fd/2; echo survived`).Stdout.Content)
		eventually(t, "the line in the log", func() bool { return strings.Contains(log.String(), `altplugin: {"@message":5}`) })
	})
	t.Run("no jobs", func(t *testing.T) {
		assert.Empty(t, check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
		assert.Empty(t, kill(t, bash, shared.AllJobs).Jobs)
		_, err := bash.Kill(t.Context(), shared.KillRequest{PID: 7})
		requireCode(t, err, shared.ErrNotFound)
	})
	t.Run("close ends what runs", func(t *testing.T) {
		ready := filepath.Join(t.TempDir(), "ready")
		running := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo $$ >" + ready + "; sleep 1000"})
		pids := append(numbers(t, awaitFile(t, ready)), bash.PluginPID())
		require.NoError(t, bash.Close())
		awaitDeath(t, pids...)
		requireErrorIsOneOf(t, await(t, running).err, shared.ErrClosed, shared.ErrCrashed)
	})
}
