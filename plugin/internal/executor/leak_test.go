package executor

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// As in the plugin, only orphans are the main thread's children.
func init() { runtime.LockOSThread() }

// Nothing of a command stays: no goroutine, no descriptor.
func TestCommandsLeaveNothingBehindInThisProcess(t *testing.T) {
	leaveNothing(t, Config{})
}

func TestConfinedCommandsLeaveNothingBehindInThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("commands are confined on Linux alone")
	}
	leaveNothing(t, Config{Confine: []shared.Confine{{ReadOnly: true, BestEffort: true}}})
}

func leaveNothing(t *testing.T, cfg Config) {
	t.Helper()
	e := newExecutor(t, cfg)
	ctx := context.Background()
	execute := func(req shared.ExecuteRequest) *shared.Result {
		r, err := e.Execute(ctx, req)
		require.NoError(t, err)
		return r
	}
	kill := func(pid int) {
		_, err := e.Kill(ctx, shared.KillRequest{PID: pid})
		require.NoError(t, err)
	}
	round := func() {
		execute(shared.ExecuteRequest{Command: "seq 3000; exit 3"})
		execute(shared.ExecuteRequest{Command: "sleep 1000", Mode: shared.ModeTerminate, Timeout: time.Millisecond})
		kill(execute(shared.ExecuteRequest{Command: "sleep 1000", Timeout: time.Millisecond}).PID)
		kill(execute(shared.ExecuteRequest{Command: "npm() { echo up; sleep 1000; }; npm", Mode: shared.ModeBackground, Timeout: time.Hour}).PID)
		kill(execute(shared.ExecuteRequest{Command: "(setsid sleep 1000 &)", Stdout: new(discard)}).PID)
		over, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		_, err := e.Execute(over, shared.ExecuteRequest{Command: "(setsid sleep 1000 &); sleep 1000", Merge: true})
		require.NoError(t, err)
		cancel()
	}
	round()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 20 {
		round()
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines || openFiles(t) > files; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			require.Fail(t, "something is left", "%d goroutines, before %d; %d files, before %d\n%s", runtime.NumGoroutine(), goroutines, openFiles(t), files, stacks)
		}
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
