package tool_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// fake is a Bash that runs nothing: it records each request and answers with
// what a test makes up, by default with a command that has completed.
type fake struct {
	execute func(context.Context, shared.ExecuteRequest) (*shared.Result, error)
	check   func(context.Context, shared.CheckRequest) (*shared.Result, error)
	kill    func(context.Context, shared.KillRequest) (*shared.Result, error)

	mu       sync.Mutex // guards requests
	requests []any
}

func (f *fake) record(req any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, req)
}

func (f *fake) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	f.record(req)
	if f.execute == nil {
		return &shared.Result{PID: 1, Command: req.Command, Dir: req.Dir, Status: shared.StatusCompleted}, nil
	}
	return f.execute(ctx, req)
}

func (f *fake) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	f.record(req)
	if f.check == nil {
		return nil, &shared.Error{Code: shared.CodeNotFound, Message: "no such job"}
	}
	return f.check(ctx, req)
}

func (f *fake) Kill(ctx context.Context, req shared.KillRequest) (*shared.Result, error) {
	f.record(req)
	if f.kill == nil {
		return nil, &shared.Error{Code: shared.CodeNotFound, Message: "no such job"}
	}
	return f.kill(ctx, req)
}

// always is a Bash that gives one account whatever it is asked.
func always(r *shared.Result) *fake {
	return &fake{
		execute: func(context.Context, shared.ExecuteRequest) (*shared.Result, error) { return r, nil },
		check:   func(context.Context, shared.CheckRequest) (*shared.Result, error) { return r, nil },
		kill:    func(context.Context, shared.KillRequest) (*shared.Result, error) { return r, nil },
	}
}

// broken is a Bash that answers every request with an error.
func broken(err error) *fake {
	return &fake{
		execute: func(context.Context, shared.ExecuteRequest) (*shared.Result, error) { return nil, err },
		check:   func(context.Context, shared.CheckRequest) (*shared.Result, error) { return nil, err },
		kill:    func(context.Context, shared.KillRequest) (*shared.Result, error) { return nil, err },
	}
}

// states are accounts of commands in every state that Execute returns one in.
func states() []shared.Result {
	killed := func(cause shared.Cause) shared.Result {
		return shared.Result{PID: 7, Status: shared.StatusKilled, Cause: cause, ExitCode: 143, Signal: "SIGTERM"}
	}
	return []shared.Result{
		{PID: 7, Status: shared.StatusCompleted},
		{PID: 7, Status: shared.StatusFailed, ExitCode: 2},
		{PID: 7, Status: shared.StatusFailed, ExitCode: 137, Signal: "SIGKILL"},
		{PID: 7, Status: shared.StatusRunning, ExitCode: -1},
		killed(shared.CauseKill), killed(shared.CauseTimeout), killed(shared.CauseCancel), killed(shared.CauseClose),
		{Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1},
	}
}

// newTools is a toolset for a Bash that has no directories.
func newTools(t testing.TB, dialect tool.Dialect, bash shared.Bash) *tool.Toolset {
	t.Helper()
	tools, err := tool.New(dialect, bash, tool.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, tools.Close()) })
	return tools
}
