package shared_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// A host that loads the plugin and runs a command. pluginPath is the path of
// the bash-plugin binary.
func Example() {
	ctx := context.Background()
	bash, err := shared.Launch(ctx, shared.LaunchConfig{Path: pluginPath})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()
	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "echo hello; echo oops >&2; exit 3"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content, result.Stderr.Content)
	fmt.Println(result.Status, result.ExitCode)
	// Output:
	// hello
	// oops
	// failed 3
}

// A host that loads its plugins with go-plugin itself needs Handshake and
// Plugins, and nothing more.
func Example_plain() {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  shared.Handshake,
		Plugins:          shared.Plugins,
		Cmd:              exec.Command(pluginPath),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC},
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		log.Fatal(err)
	}
	dispensed, err := protocol.Dispense(shared.PluginName)
	if err != nil {
		log.Fatal(err)
	}
	bash := dispensed.(shared.Bash)
	result, err := bash.Execute(context.Background(), shared.ExecuteRequest{Command: "echo hello"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content)
	// Output: hello
}

// Start a server, wait until it says that it listens, use it, kill it: three
// calls, no polling and no sleep.
func Example_server() {
	ctx := context.Background()
	bash, err := shared.Launch(ctx, shared.LaunchConfig{Path: pluginPath})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()

	server := "echo starting; echo listening on port 8080; sleep 1000"
	started, err := bash.Execute(ctx, shared.ExecuteRequest{Command: server, Mode: shared.ModeBackground})
	if err != nil {
		log.Fatal(err)
	}
	ready, err := bash.Check(ctx, shared.CheckRequest{PID: started.PID, Wait: time.Minute, WaitFor: `listening on port (\d+)`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ready.Status, strings.Contains(ready.Stdout.Content, "listening on port 8080"))
	killed, err := bash.Kill(ctx, shared.KillRequest{PID: started.PID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(killed.Status, killed.Cause)
	// Output:
	// running true
	// killed kill
}

// sh is a Bash that runs each command to its end. It has no jobs.
type sh struct{}

func (sh) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(req.Timeout, shared.DefaultTimeout))
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, "sh", "-c", req.Command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = req.Dir, append(os.Environ(), req.Env...), &stdout, &stderr
	result := &shared.Result{Command: req.Command, Status: shared.StatusCompleted, Started: time.Now()}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, &shared.Error{Code: shared.CodeStart, Message: err.Error()}
	}
	result.Duration, result.PID, result.ExitCode = time.Since(result.Started), cmd.ProcessState.Pid(), cmd.ProcessState.ExitCode()
	result.Stdout, result.Stderr = shared.Output{Content: stdout.String()}, shared.Output{Content: stderr.String()}
	switch {
	case ctx.Err() != nil:
		result.Status = shared.StatusKilled
	case err != nil:
		result.Status = shared.StatusFailed
	}
	return result, nil
}

func (sh) Check(_ context.Context, req shared.CheckRequest) (*shared.Result, error) {
	return noJobs(req.PID)
}

func (sh) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	return noJobs(req.PID)
}

func noJobs(pid int) (*shared.Result, error) {
	if pid == shared.AllJobs {
		return &shared.Result{}, nil
	}
	return nil, shared.ErrNotFound
}

// A Bash of your own is a plugin when the main function of its program calls
// plugin.Serve; here sh{} runs commands with sh. ServeConfig.Test makes the
// example plugin and host in one process: a real plugin leaves it out, and a
// real host calls Launch. One that keeps more of the contract is in
// testdata/altplugin.
func ExamplePlugin() {
	ctx, stop := context.WithCancel(context.Background())
	serving, over := make(chan *plugin.ReattachConfig), make(chan struct{})
	go plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: sh{}}},
		Logger:          hclog.NewNullLogger(),
		Test:            &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: serving, CloseCh: over},
	})
	defer func() { stop(); <-over }()

	host := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         shared.Plugins,
		Reattach:        <-serving,
		Logger:          hclog.NewNullLogger(),
	})
	defer host.Kill()
	protocol, err := host.Client()
	if err != nil {
		log.Fatal(err)
	}
	dispensed, err := protocol.Dispense(shared.PluginName)
	if err != nil {
		log.Fatal(err)
	}
	result, err := dispensed.(shared.Bash).Execute(ctx, shared.ExecuteRequest{Command: "echo hello; exit 3"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content, result.Status, " ", result.ExitCode)
	// Output:
	// hello
	// failed 3
}

// The plugin in testdata/altplugin keeps of the contract what it says it keeps.
func TestAltplugin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "altplugin")
	goTool(t, ".", "build", "-o", path, "./testdata/altplugin")
	bash, err := shared.Launch(t.Context(), shared.LaunchConfig{Path: path})
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
		r := execute(t, bash, shared.ExecuteRequest{Command: "echo begun; sleep 1000 | cat", Timeout: 500 * time.Millisecond})
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
