package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripted is a Bash whose calls do what a test says.
type scripted struct {
	execute func(context.Context, ExecuteRequest) (*Result, error)
	check   func(context.Context, CheckRequest) (*Result, error)
	kill    func(context.Context, KillRequest) (*Result, error)
}

func (s scripted) Execute(ctx context.Context, req ExecuteRequest) (*Result, error) {
	return s.execute(ctx, req)
}

func (s scripted) Check(ctx context.Context, req CheckRequest) (*Result, error) {
	return s.check(ctx, req)
}

func (s scripted) Kill(ctx context.Context, req KillRequest) (*Result, error) {
	return s.kill(ctx, req)
}

// connect serves impl over a real connection, multiplexer and broker, without
// a process.
func connect(t *testing.T, p *Plugin) *client {
	t.Helper()
	conn, _ := plugin.TestPluginRPCConn(t, plugin.PluginSet{PluginName: p}, nil)
	t.Cleanup(func() { conn.Close() })
	bash, err := conn.Dispense(PluginName)
	require.NoError(t, err)
	return bash.(*client)
}

const guard = time.Minute // against a test that hangs

func TestEveryFieldOfAResultTravels(t *testing.T) {
	want := filled[Result](t)
	require.NotZero(t, want.Jobs[1].Stderr.Notable[1].Text)
	c := connect(t, &Plugin{Impl: scripted{check: func(context.Context, CheckRequest) (*Result, error) { return &want, nil }}})
	got, err := c.Check(t.Context(), CheckRequest{PID: 7})
	require.NoError(t, err)
	assert.Equal(t, want, *got)
}

func TestEveryFieldOfARequestTravels(t *testing.T) {
	execute, check, kill := filled[ExecuteRequest](t), filled[CheckRequest](t), filled[KillRequest](t)
	require.NotZero(t, execute.Confine.Writable)
	c := connect(t, &Plugin{Impl: scripted{
		execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
			assert.Equal(t, execute, req)
			return &Result{}, nil
		},
		check: func(_ context.Context, req CheckRequest) (*Result, error) {
			assert.Equal(t, check, req)
			return &Result{}, nil
		},
		kill: func(_ context.Context, req KillRequest) (*Result, error) {
			assert.Equal(t, kill, req)
			return &Result{}, nil
		},
	}})
	_, err := c.Execute(t.Context(), execute)
	require.NoError(t, err)
	_, err = c.Check(t.Context(), check)
	require.NoError(t, err)
	_, err = c.Kill(t.Context(), kill)
	require.NoError(t, err)
}

func TestErrorsKeepTheirCodeAcrossTheBoundary(t *testing.T) {
	sentinels := []error{ErrInvalid, ErrNotFound, ErrStart, ErrClosed, ErrCrashed, ErrInternal}
	for _, sentinel := range sentinels {
		code := sentinel.(*Error).Code
		c := connect(t, &Plugin{Impl: scripted{kill: func(context.Context, KillRequest) (*Result, error) {
			return nil, fmt.Errorf("outer: %w", &Error{Code: code, Message: "what to do"})
		}}})
		_, err := c.Kill(t.Context(), KillRequest{})
		require.Error(t, err)
		assert.Equal(t, "outer: what to do", err.Error())
		for _, other := range sentinels {
			assert.Equal(t, other == sentinel, errors.Is(err, other), "%s is %s", code, other)
		}
	}
}

func TestAnUntypedErrorBecomesInternal(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{kill: func(context.Context, KillRequest) (*Result, error) { return nil, io.ErrNoProgress }}})
	_, err := c.Kill(t.Context(), KillRequest{})
	assert.ErrorIs(t, err, ErrInternal)
	assert.ErrorContains(t, err, io.ErrNoProgress.Error())
}

func TestAnAnswerOfNothingIsAnError(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{
		execute: func(context.Context, ExecuteRequest) (*Result, error) { return nil, nil },
		check:   func(context.Context, CheckRequest) (*Result, error) { return nil, nil },
		kill:    func(context.Context, KillRequest) (*Result, error) { return nil, nil },
	}})
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: io.Discard})
	assert.ErrorIs(t, err, ErrInternal)
	_, err = c.Check(t.Context(), CheckRequest{})
	assert.ErrorIs(t, err, ErrInternal)
	_, err = c.Kill(t.Context(), KillRequest{})
	assert.ErrorIs(t, err, ErrInternal)
}

func TestAPanicEndsItsCallAlone(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{
		kill:  func(context.Context, KillRequest) (*Result, error) { panic("boom") },
		check: func(context.Context, CheckRequest) (*Result, error) { return &Result{PID: 1}, nil },
	}})
	_, err := c.Kill(t.Context(), KillRequest{})
	assert.ErrorIs(t, err, ErrInternal)
	assert.ErrorContains(t, err, "boom")
	r, err := c.Check(t.Context(), CheckRequest{})
	require.NoError(t, err)
	assert.Equal(t, 1, r.PID)
}

func TestACancelReachesTheImplementation(t *testing.T) {
	started := make(chan struct{})
	c := connect(t, &Plugin{Impl: scripted{execute: func(ctx context.Context, _ ExecuteRequest) (*Result, error) {
		close(started)
		<-ctx.Done()
		return &Result{Status: StatusKilled, Cause: CauseCancel}, nil
	}}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	r, err := c.Execute(ctx, ExecuteRequest{})
	require.NoError(t, err, "the account of the cancelled command")
	assert.Equal(t, CauseCancel, r.Cause)
}

func TestAContextThatWasOverIsOverAtTheImplementation(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(ctx context.Context, _ ExecuteRequest) (*Result, error) {
		assert.Error(t, ctx.Err(), "at the very beginning")
		return &Result{Status: StatusKilled}, nil
	}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := c.Execute(ctx, ExecuteRequest{})
	require.NoError(t, err)
	assert.Equal(t, StatusKilled, r.Status)
}

func TestAnImplementationThatIgnoresTheCancel(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	defer close(block)
	c := connect(t, &Plugin{Impl: scripted{execute: func(context.Context, ExecuteRequest) (*Result, error) {
		<-block
		return &Result{}, nil
	}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Execute(ctx, ExecuteRequest{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestALargeResultArrivesWhole(t *testing.T) {
	want := strings.Repeat("0123456789abcde\n", 1<<16)
	c := connect(t, &Plugin{Impl: scripted{check: func(context.Context, CheckRequest) (*Result, error) {
		return &Result{Stdout: Output{Content: want}, Stderr: Output{Content: want}}, nil
	}}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := c.Check(t.Context(), CheckRequest{})
			if assert.NoError(t, err) {
				assert.Equal(t, want, r.Stdout.Content)
				assert.Equal(t, want, r.Stderr.Content)
			}
		})
	}
	wg.Wait()
}

// slowWriter takes what it is given when it is told to.
type slowWriter struct {
	bytes.Buffer
	gate chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(p)
}

func TestLiveOutputArrivesInOrderBeforeTheResult(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		for i := range 1000 {
			fmt.Fprintf(req.Stdout, "%d\n", i)
		}
		fmt.Fprint(req.Stderr, "end")
		return &Result{Status: StatusCompleted}, nil
	}}})
	var stdout, stderr bytes.Buffer
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: &stdout, Stderr: &stderr})
	require.NoError(t, err)
	assert.Equal(t, 1000, strings.Count(stdout.String(), "\n"))
	assert.True(t, strings.HasSuffix(stdout.String(), "998\n999\n"))
	assert.Equal(t, "end", stderr.String())
}

func TestAStuckLiveWriterDoesNotHoldTheResult(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		fmt.Fprint(req.Stdout, "text")
		return &Result{Status: StatusCompleted}, nil
	}}})
	w := &slowWriter{gate: make(chan struct{})}
	defer close(w.gate)
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(context.Background(), ExecuteRequest{Stdout: w})
		done <- err
	}()
	select {
	case err := <-done:
		assert.NoError(t, err)
	case <-time.After(guard):
		t.Fatal("Execute waits for a writer that is stuck")
	}
}

// failing is a writer that wants no more.
type failing struct{ writes int }

func (w *failing) Write([]byte) (int, error) {
	w.writes++
	return 0, io.ErrClosedPipe
}

func TestALiveWriterThatFailsEndsTheCopy(t *testing.T) {
	failed := make(chan error, 1)
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		for {
			if _, err := req.Stdout.Write([]byte("text")); err != nil {
				failed <- err
				return &Result{Status: StatusCompleted}, nil
			}
		}
	}}})
	w := new(failing)
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: w})
	require.NoError(t, err)
	assert.Error(t, <-failed)
	assert.Equal(t, 1, w.writes)
}

func TestDisconnectedIsToldWhenTheHostHangsUp(t *testing.T) {
	gone := make(chan struct{})
	ended := make(chan struct{})
	began := make(chan struct{})
	conn, _ := plugin.TestPluginRPCConn(t, plugin.PluginSet{PluginName: &Plugin{
		Impl: scripted{execute: func(ctx context.Context, _ ExecuteRequest) (*Result, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return &Result{}, nil
		}},
		Disconnected: func() { close(gone) },
	}}, nil)
	bash, err := conn.Dispense(PluginName)
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() {
		_, err := bash.(Bash).Execute(context.Background(), ExecuteRequest{})
		failed <- err
	}()
	<-began
	conn.Close()
	for _, c := range []<-chan struct{}{gone, ended} {
		select {
		case <-c:
		case <-time.After(guard):
			t.Fatal("nobody was told")
		}
	}
	assert.ErrorIs(t, <-failed, ErrCrashed)
}

func FuzzLiveFrames(f *testing.F) {
	f.Add([]byte{frameStdout, 0, 0, 0, 2, 'h', 'i', frameReturned, 0, 0, 0, 0})
	f.Add([]byte{9, 255, 255, 255, 255})
	f.Add(make([]byte, 2*frameHeader))
	f.Fuzz(func(t *testing.T, stream []byte) {
		receive := func(chunk int) (string, string, bool) {
			var stdout, stderr bytes.Buffer
			l := liveReceiver{
				writers: map[byte]io.Writer{frameStdout: &stdout, frameStderr: &stderr},
				turn:    make(chan struct{}, 1),
				arrive:  func() {},
			}
			for part := range slices.Chunk(stream, chunk) {
				_, err := l.Write(part)
				if err != nil {
					return stdout.String(), stderr.String(), false
				}
			}
			return stdout.String(), stderr.String(), true
		}
		stdout, stderr, ok := receive(len(stream) + 1)
		bytewiseOut, bytewiseErr, bytewiseOK := receive(1)
		require.Equal(t, []any{stdout, stderr, ok}, []any{bytewiseOut, bytewiseErr, bytewiseOK})
		require.LessOrEqual(t, len(stdout)+len(stderr), len(stream))
	})
}
