package executor

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// lines is a log that a test can read while it is written.
type lines struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// broken is a writer with a bug.
type broken struct{}

func (broken) Write([]byte) (int, error) { panic("a bug in the writer") }

// A panic in a goroutine of one job ends that job, with an error, and no other.
func TestAPanicEndsItsJobAlone(t *testing.T) {
	for name, req := range map[string]shared.ExecuteRequest{
		"in the foreground": {Command: "echo out; exec sleep 1000"},
		"merged":            {Command: "echo out >&2; exec sleep 1000", Merge: true},
		"it has ended":      {Command: "echo out"},
		"lossless":          {Command: "yes", Lossless: true},
		"a left-over":       {Command: "setsid -f yes; sleep 0.01"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lines)
			e := newExecutor(t, Config{Logger: hclog.New(&hclog.LoggerOptions{Output: log})})
			ctx := context.Background()
			other, err := e.Execute(ctx, shared.ExecuteRequest{Command: "exec sleep 1000", Mode: shared.ModeBackground})
			require.NoError(t, err)
			req.Stdout = broken{}
			if req.Command != "yes" {
				req.Stderr = io.Discard
			}
			_, err = e.Execute(ctx, req)
			if name != "it has ended" && name != "a left-over" { // these may be over before the writer is called
				require.ErrorIs(t, err, shared.ErrInternal)
				require.ErrorContains(t, err, "a bug in the writer")
			}
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "panic_test.go") }, time.Minute, time.Millisecond, "the log has the stack")
			r, err := e.Check(ctx, shared.CheckRequest{PID: other.PID})
			require.NoError(t, err)
			assert.Equal(t, shared.StatusRunning, r.Status)
			r, err = e.Execute(ctx, shared.ExecuteRequest{Command: "echo works"})
			require.NoError(t, err)
			assert.Equal(t, "works\n", r.Stdout.Content)
		})
	}
}

// After a panic each call on the job returns the error, until Kill removes the job.
func TestAPanicOfAJobIsTold(t *testing.T) {
	e := newExecutor(t, Config{})
	ctx := context.Background()
	started, err := e.Execute(ctx, shared.ExecuteRequest{
		Command: "read; echo out; exec sleep 1000", Mode: shared.ModeBackground, Stdin: shared.StdinPipe, Stdout: broken{},
	})
	require.NoError(t, err)
	_, err = e.Check(ctx, shared.CheckRequest{PID: started.PID, Input: "\n", Wait: time.Minute})
	require.ErrorIs(t, err, shared.ErrInternal)
	list, err := e.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	assert.Equal(t, shared.StatusFailed, list.Jobs[0].Status)
	_, err = e.Kill(ctx, shared.KillRequest{PID: started.PID})
	require.ErrorIs(t, err, shared.ErrInternal)
	_, err = e.Check(ctx, shared.CheckRequest{PID: started.PID})
	require.ErrorIs(t, err, shared.ErrNotFound)
}
