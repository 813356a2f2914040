package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ending is a writer that knows its end.
type ending struct {
	bytes.Buffer
	ended chan struct{}
}

func newEnding() *ending { return &ending{ended: make(chan struct{})} }

func (w *ending) EndOutput() { close(w.ended) }

func (w *ending) await(t *testing.T) {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(guard):
		t.Fatal("nobody told the writer of the end")
	}
}

func TestALiveWriterIsToldOfTheEnd(t *testing.T) {
	more := make(chan struct{})
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		go func() {
			<-more
			_, _ = io.WriteString(req.Stdout, "later")
			req.Stdout.(OutputEnder).EndOutput()
			req.Stderr.(OutputEnder).EndOutput()
		}()
		return &Result{PID: 1, Status: StatusRunning}, nil
	}}})
	stdout, stderr := newEnding(), newEnding()
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: stdout, Stderr: stderr})
	require.NoError(t, err)
	select {
	case <-stdout.ended:
		t.Fatal("the job goes on")
	default:
	}
	close(more)
	stdout.await(t)
	stderr.await(t)
	assert.Equal(t, "later", stdout.String())
}

// slice is a writer that cannot be compared.
type slice []byte

func (slice) Write(p []byte) (int, error) { return len(p), nil }

func TestALiveWriterOfBothIsToldOfTheEndOnce(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		_, _ = io.WriteString(req.Stdout, "out ")
		_, _ = io.WriteString(req.Stderr, "err")
		req.Stdout.(OutputEnder).EndOutput()
		req.Stderr.(OutputEnder).EndOutput()
		return &Result{PID: 1}, nil
	}}})
	both := newEnding() // panics the second time
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: both, Stderr: both})
	require.NoError(t, err)
	both.await(t)
	assert.Equal(t, "out err", both.String())
	assert.True(t, isSame(both, both))
	assert.False(t, isSame(both, newEnding()))
	assert.False(t, isSame(slice{}, slice{}))
}

func TestAWholeOutputIsOneOnTheOtherSide(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		_, whole := req.Stdout.(WholeOutput)
		fmt.Fprint(req.Stdout, whole)
		for _, w := range []io.Writer{req.Stdout, req.Stderr} {
			if w != nil {
				w.(OutputEnder).EndOutput()
			}
		}
		return &Result{PID: 1}, nil
	}}})
	w := newEnding()
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: w})
	require.NoError(t, err)
	w.await(t)
	assert.Equal(t, "false", w.String())
	for _, whole := range []func(io.Writer) io.Writer{
		func(w io.Writer) io.Writer { return WholeOutput{w} },
		func(w io.Writer) io.Writer { return &WholeOutput{w} },
		func(w io.Writer) io.Writer { return WholeOutput{WholeOutput{w}} },
	} {
		w = newEnding() // panics the second time that it is told
		_, err = c.Execute(t.Context(), ExecuteRequest{Stdout: whole(w), Stderr: w})
		require.NoError(t, err)
		w.await(t)
		assert.Equal(t, "true", w.String())
	}
	_, err = c.Execute(t.Context(), ExecuteRequest{Stdout: WholeOutput{io.Discard}, Stderr: WholeOutput{}})
	require.NoError(t, err, "one that need not be told, and none")
}

func TestALiveWriterIsToldOfTheEndOfTheConnection(t *testing.T) {
	conn, _ := plugin.TestPluginRPCConn(t, plugin.PluginSet{PluginName: &Plugin{Impl: scripted{
		execute: func(context.Context, ExecuteRequest) (*Result, error) {
			return &Result{PID: 1, Status: StatusRunning}, nil
		},
	}}}, nil)
	bash, err := conn.Dispense(PluginName)
	require.NoError(t, err)
	w := newEnding()
	_, err = bash.(Bash).Execute(t.Context(), ExecuteRequest{Stdout: w})
	require.NoError(t, err)
	conn.Close()
	w.await(t)
}

func TestALiveWriterIsToldOfTheEndWhereNothingWasStarted(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(context.Context, ExecuteRequest) (*Result, error) {
		return &Result{Status: StatusKilled, Cause: CauseCancel}, nil
	}}})
	w := newEnding()
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: w})
	require.NoError(t, err)
	w.await(t)
}

// An implementation need not say that its output has ended.
func TestTheOutputOfACommandThatIsOverEnds(t *testing.T) {
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		_, err := io.WriteString(req.Stdout, "hello\n")
		if req.Command == "neither" {
			return nil, nil
		}
		return &Result{PID: 7, Status: StatusCompleted}, err
	}}})
	writer := &ending{ended: make(chan struct{})}
	_, err := c.Execute(t.Context(), ExecuteRequest{Stdout: writer})
	require.NoError(t, err)
	select {
	case <-writer.ended:
	case <-time.After(guard):
		t.Fatal("nobody is told")
	}
	assert.Equal(t, "hello\n", writer.String())

	before := runtime.NumGoroutine()
	for range 50 {
		_, err := c.Execute(t.Context(), ExecuteRequest{Command: "neither", Stdout: io.Discard})
		require.ErrorIs(t, err, ErrInternal)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 }, guard, time.Millisecond)
}

// A host that was stopped right after its call gets to the live output only
// when the call has returned, and longer after it than the broker waits.
func TestLiveOutputWaitsForAHostThatComesLate(t *testing.T) {
	t.Parallel()
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		assert.IsType(t, WholeOutput{}, req.Stdout, "for a host that knows of nothing else")
		go func() {
			_, _ = io.WriteString(req.Stdout, "hello")
			req.Stdout.(OutputEnder).EndOutput()
		}()
		return &Result{PID: 1}, nil
	}}})
	live := newLiveReceiver(c.broker.NextId() | liveIDs)
	var r reply
	require.NoError(t, c.conn.Call("Plugin.Execute", executeArgs{Call: 1, Live: live.id, Stdout: true}, &r))
	time.Sleep(6 * time.Second) // the broker waits 5
	conn, err := dialStream(c.broker, live.id)
	require.NoError(t, err)
	defer conn.Close()
	var stdout bytes.Buffer
	require.NoError(t, live.copy(conn, liveWriters(&stdout, nil)))
	assert.Equal(t, "hello", stdout.String())

	// The stream is the host's to close: a host that is stopped, or whose writer
	// is stuck, for longer than the multiplexer keeps a closed one has it all.
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = conn.Read(make([]byte, 1))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout(), "%v", err)
	require.NoError(t, conn.SetReadDeadline(time.Time{}))
	hangUp(conn)
}

// lateConn says with each read that something else was late.
type lateConn struct{ net.Conn }

func (c lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), 3)])
	return n, errors.Join(err, errors.New("connection write timeout"))
}

func TestAStreamOutlivesALateUpdate(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		_, _ = io.WriteString(there, "all of it")
		there.Close()
	}()
	text, err := io.ReadAll(stream{lateConn{here}})
	assert.Equal(t, "all of it", string(text))
	assert.ErrorIs(t, err, io.EOF, "the end is told")
}

// What is under way is waited for, other than a writer that is stuck.
func TestAResultWaitsForOutputThatIsUnderWay(t *testing.T) {
	t.Parallel()
	settle := func(l *liveReceiver) <-chan struct{} {
		settled := make(chan struct{})
		go func() {
			l.settle(liveArrives)
			close(settled)
		}()
		return settled
	}
	stuck := newLiveReceiver(0)
	stuck.turn <- struct{}{}
	slow := newLiveReceiver(0)
	settled := settle(slow)
	for range 10 {
		<-settle(stuck) // at the second look
	}
	select {
	case <-settled:
		t.Fatal("nothing has come yet")
	default:
	}
	close(slow.returned)
	<-settled
}

// Of writers that are quick, slow, stuck, or have nothing to do.
func TestPatienceWithWriters(t *testing.T) {
	for name, test := range map[string]struct {
		wrote, writing bool
		looks          int
	}{
		"quick": {true, false, liveWrites},
		"slow":  {true, true, liveSlow},
		"stuck": {false, true, 2},
		"idle":  {false, false, liveArrives},
	} {
		t.Run(name, func(t *testing.T) {
			p := patience{idle: liveArrives}
			for range test.looks - 1 {
				p.look(test.wrote, test.writing)
			}
			assert.False(t, p.isOver())
			p.look(test.wrote, test.writing)
			assert.True(t, p.isOver())
		})
	}
	p := patience{idle: liveArrives}
	for range liveWrites/2 - 1 { // quick, if found writing at times
		p.look(true, true)
		p.look(true, false)
	}
	assert.False(t, p.isOver())
}

// Both sides number streams, and streams of both wait at the plugin at once.
func TestLiveOutputAndLargeResultsAtOnce(t *testing.T) {
	t.Parallel()
	c := connect(t, &Plugin{Impl: scripted{execute: func(_ context.Context, req ExecuteRequest) (*Result, error) {
		_, err := io.WriteString(req.Stdout, req.Command)
		req.Stdout.(OutputEnder).EndOutput()
		return &Result{PID: 1, Stdout: Output{Content: strings.Repeat(req.Command, bulkSize)}}, err
	}}})
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			var live bytes.Buffer
			command := string(rune('a' + i%26))
			r, err := c.Execute(t.Context(), ExecuteRequest{Command: command + command, Stdout: &live})
			if assert.NoError(t, err) {
				assert.Equal(t, command+command, live.String())
				assert.Equal(t, 2*bulkSize, strings.Count(r.Stdout.Content, command))
			}
		})
	}
	calls.Wait()
}
