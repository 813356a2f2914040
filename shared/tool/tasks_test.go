//go:build unix

package tool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// jobs is a Bash whose every command is a job that runs until it is killed; a
// test says with which pid.
func jobs(pid func() int) *fake {
	known := make(map[int]*shared.Result)
	begun := 0
	find := func(pid int) (*shared.Result, error) {
		if r := known[pid]; r != nil {
			return r, nil
		}
		return nil, &shared.Error{Code: shared.CodeNotFound, Message: "no such job"}
	}
	return &fake{
		execute: func(context.Context, shared.ExecuteRequest) (*shared.Result, error) {
			begun++
			r := &shared.Result{PID: pid(), Status: shared.StatusRunning, Started: time.Unix(int64(begun), 0)}
			known[r.PID] = r
			return r, nil
		},
		check: func(_ context.Context, req shared.CheckRequest) (*shared.Result, error) {
			if req.PID != shared.AllJobs {
				return find(req.PID)
			}
			all := new(shared.Result)
			for _, r := range known {
				all.Jobs = append(all.Jobs, *r)
			}
			return all, nil
		},
		kill: func(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
			r, err := find(req.PID)
			if err != nil {
				return nil, err
			}
			delete(known, req.PID)
			return &shared.Result{PID: r.PID, Status: shared.StatusKilled, Started: r.Started}, nil
		},
	}
}

func counter() func() int {
	n := 0
	return func() int { n++; return n }
}

var startArgs = args{"command": "x", "run_in_background": true}

// The pid of a job that was forgotten comes again: the old id must not reach
// the new job.
func TestAnIDNeverReachesALaterJob(t *testing.T) {
	t.Parallel()
	for dialect, id := range map[tool.Dialect]string{tool.TaskID: "task_id", tool.BashID: "bash_id"} {
		bash := jobs(func() int { return 7 })
		a := newAgentOver(t, dialect, bash)
		old := a.run(startArgs).ID
		fresh := map[string]*agent{"the same toolset": a, "another toolset": newAgentOver(t, dialect, bash)}
		for name, other := range fresh {
			started := other.run(startArgs).ID
			before := len(bash.requests)
			assert.ErrorIs(t, a.use("bash_output", args{id: old}).Err, shared.ErrNotFound, name)
			a.use("kill_bash", args{id: old})
			for _, req := range bash.requests[before:] {
				assert.True(t, req.(shared.CheckRequest).Peek, "%s: the output is the later job's", name)
			}
			assert.False(t, other.use("kill_bash", args{id: started}).IsError, name)
		}
	}
}

// The id of a job that runs stays, however many jobs were killed since.
func TestIDsAreBounded(t *testing.T) {
	t.Parallel()
	a := newAgentOver(t, tool.BashID, jobs(counter()))
	server, first := a.run(startArgs).ID, a.run(startArgs).ID
	a.kill(first)
	for range 510 {
		a.kill(a.run(startArgs).ID)
	}
	assert.False(t, a.output(first).IsError, "512 ids are known")
	a.run(startArgs)
	assert.True(t, a.output(first).IsError, "those that the Bash has forgotten go")
	assert.False(t, a.output(server).IsError)

	for range 511 { // more than this module's Bash knows
		a.run(startArgs)
	}
	answer := a.output(server)
	assert.True(t, answer.IsError)
	assert.Contains(t, answer.Text, ". The newest are bash_")
}

func TestKillOfAnEvictedJobIsNoError(t *testing.T) {
	t.Parallel()
	bash := jobs(counter())
	a := newAgentOver(t, tool.BashID, bash)
	id := a.run(startArgs).ID
	bash.check = nil // it knows no job
	answer := a.kill(id)
	assert.False(t, answer.IsError)
	assert.Equal(t, "Process "+id+" is not running any more.", answer.Text)
}

func TestOutputOfAnEvictedJobIsNotFound(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[tool.Dialect]string{
		tool.TaskID: "Task <id> not found. the task <id> has ended and its output is not kept any more.",
		tool.BashID: "BASH_NOT_FOUND: the background process with the bash_id <id> has ended and its output is not kept any more.",
	} {
		bash := jobs(counter())
		a := newAgentOver(t, dialect, bash)
		id := a.run(startArgs).ID
		bash.check = nil // it knows no job
		answer := a.use("bash_output", args{map[tool.Dialect]string{tool.TaskID: "task_id", tool.BashID: "bash_id"}[dialect]: id})
		assert.ErrorIs(t, answer.Err, shared.ErrNotFound)
		assert.Equal(t, strings.ReplaceAll(want, "<id>", id), answer.Text)
	}
}

func TestTheJobsOfACrashedPluginAreLost(t *testing.T) {
	t.Parallel()
	lost := errors.Join(&shared.Error{Code: shared.CodeNotFound, Message: "job 1 was ended when the plugin crashed; its output is in /log/1"}, shared.ErrCrashed)
	for dialect, want := range map[tool.Dialect]string{
		tool.TaskID: "Task <id> not found. job 1 was ended when the plugin crashed; its output is in /log/1",
		tool.BashID: "BASH_NOT_FOUND: job 1 was ended when the plugin crashed; its output is in /log/1",
	} {
		bash := jobs(counter())
		a := newAgentOver(t, dialect, bash)
		id := a.run(startArgs).ID
		bash.check = broken(lost).check
		answer := a.use("bash_output", args{map[tool.Dialect]string{tool.TaskID: "task_id", tool.BashID: "bash_id"}[dialect]: id})
		assert.True(t, strings.HasPrefix(answer.Text, strings.ReplaceAll(want, "<id>", id)), answer.Text)
	}
}

func TestAStuckProcessIsAnError(t *testing.T) {
	t.Parallel()
	for dialect, key := range map[tool.Dialect]string{tool.TaskID: "task_id", tool.BashID: "bash_id"} {
		bash := jobs(counter())
		bash.kill = bash.check2()
		a := newAgentOver(t, dialect, bash)
		id := a.run(startArgs).ID
		answer := a.use("kill_bash", args{key: id})
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.Text, "was sent SIGKILL, but the system does not let it end (it hangs, or runs as another user).")
		bash.check = func(context.Context, shared.CheckRequest) (*shared.Result, error) { return nil, errors.New("asked") }
		assert.ErrorContains(t, a.use("bash_output", args{key: id}).Err, "asked", "it may have ended since")
	}
}

// check2 kills without success.
func (f *fake) check2() func(context.Context, shared.KillRequest) (*shared.Result, error) {
	return func(ctx context.Context, req shared.KillRequest) (*shared.Result, error) {
		return f.check(ctx, shared.CheckRequest{PID: req.PID})
	}
}

// How a background command's log ends if Check cannot tell how the command did.
func TestModeEndingWithoutAnAccount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		check func(context.Context, shared.CheckRequest) (*shared.Result, error)
		want  string
	}{
		"plugin gone": {broken(shared.ErrCrashed).check, "\n\n[background process error: the plugin crashed]\n"},
		"closed":      {broken(shared.ErrClosed).check, "\n\n[background process killed: the session was closed]\n"},
		"forgotten":   {nil, "\n\n[background process killed]\n"},
		"timed out":   {always(&shared.Result{PID: 7, Status: shared.StatusKilled, Cause: shared.CauseTimeout}).check, "\n\n[background process killed: it ran for 24 hours]\n"},
		"closing":     {always(&shared.Result{PID: 7, Status: shared.StatusKilled, Cause: shared.CauseClose}).check, "\n\n[background process killed: the session was closed]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			require.NoError(t, os.WriteFile(path, []byte("so far\n"), 0o600))
			bash := always(&shared.Result{PID: 7, Status: shared.StatusRunning, Stdout: shared.Output{Path: path}})
			bash.check = test.check
			a := newAgentOver(t, tool.Mode, bash)
			a.run(args{"command": "x", "mode": "background"})
			awaitText(t, path, "so far\n"+test.want)
		})
	}
}

func TestModeEndingOfALogThatIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	bash := always(&shared.Result{PID: 7, Status: shared.StatusRunning, Stdout: shared.Output{Path: path}})
	bash.check = always(&shared.Result{PID: 7, Status: shared.StatusCompleted}).check
	tools := newTools(t, tool.Mode, bash)
	tools.Call(t.Context(), tool.Call{Name: "bash", Arguments: fmt.Appendf(nil, `{"command":"x","mode":"background"}`)})
	require.NoError(t, tools.Close())
	assert.NoFileExists(t, path)
}

// A command may change its log. The ending goes into no file that it puts in the log's
// place, and waits for nobody who reads there.
func TestModeEndingGoesIntoTheLogAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("precious"), []byte("precious\n"), 0o600))
	require.NoError(t, os.WriteFile(in("log"), []byte("so far\n"), 0o600))
	require.NoError(t, os.Symlink(in("precious"), in("link")))
	require.NoError(t, os.Link(in("precious"), in("hard link")))
	require.NoError(t, os.Mkdir(in("folder"), 0o700))
	for _, name := range []string{"fifo", "fifo with a reader"} {
		require.NoError(t, syscall.Mkfifo(in(name), 0o600))
	}
	reader, err := os.OpenFile(in("fifo with a reader"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()

	bash := new(fake)
	bash.check = func(context.Context, shared.CheckRequest) (*shared.Result, error) {
		return &shared.Result{PID: 7, Status: shared.StatusCompleted}, nil
	}
	bash.execute = func(_ context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
		return &shared.Result{PID: 7, Status: shared.StatusRunning, Stdout: shared.Output{Path: req.Command}}, nil
	}
	tools := newTools(t, tool.Mode, bash)
	follow := func(name string) {
		tools.Call(t.Context(), tool.Call{Name: "bash", Arguments: fmt.Appendf(nil, `{"command":%q,"mode":"background"}`, in(name))})
	}
	for range 20 { // at least one of them is done before the last
		for _, name := range []string{"link", "hard link", "folder", "fifo", "fifo with a reader"} {
			follow(name)
		}
	}
	follow("log")
	awaitText(t, in("log"), "so far\n\n\n[background process completed]\n")
	require.NoError(t, tools.Close())
	precious, err := os.ReadFile(in("precious"))
	require.NoError(t, err)
	assert.Equal(t, "precious\n", string(precious))
	n, _ := reader.Read(make([]byte, 1))
	assert.Zero(t, n)
}
