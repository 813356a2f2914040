package shared

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/rpc"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
)

const (
	// cancelPatience is how long a call whose context has ended waits for the
	// plugin's answer before it returns the context's error.
	cancelPatience = 3 * time.Second
	// A plugin that takes longer than a request allows counts as gone after maxLooks
	// looks, lookTime apart; if its process is stopped, after one. Several looks give
	// a host that was itself stopped the time to read the answer.
	lookTime = 3 * time.Second
	maxLooks = 7
)

// client is the host's side of one session: a Bash that sends its calls.
type client struct {
	line    current[line]
	resumes bool        // a line that is lost is replaced
	stopped func() bool // reports whether the plugin's process is stopped; nil: unknown
	dir     string      // where commands run; "": in the plugin's directory
	logs    string      // where the plugin's commands have their logs; "": unknown
	held    bool        // the plugin may be under a debugger: an answer may take any time

	mu   sync.Mutex      // guards the fields below
	last uint64          // number of the last call
	open map[uint64]bool // the calls under way
}

// line is a connection to the plugin.
type line struct {
	broker *plugin.MuxBroker
	conn   *rpc.Client
}

var _ Bash = (*client)(nil)

// begin begins the session with a plugin that this host has started.
func (c *client) begin(l line) {
	c.line.set(l, false)
	lifeline, r := l.broker.NextId(), new(openReply)
	go holdLifeline(l.broker, lifeline)
	_ = l.conn.Call("Plugin.Open", openArgs{Lifeline: lifeline}, r) // if the plugin is gone, the next call says so
	c.logs = r.Logs
}

// holdLifeline holds a stream for as long as this host lives, so that the plugin
// sees its end.
func holdLifeline(broker *plugin.MuxBroker, id uint32) {
	for range 2 { // the broker gives up after 5 s, for which this process may have been stopped
		if line, err := broker.Accept(id); err == nil {
			_, _ = io.Copy(io.Discard, line) // until the connection ends
			line.Close()
			return
		}
	}
}

// Execute implements Bash.
func (c *client) Execute(ctx context.Context, req ExecuteRequest) (*Result, error) {
	started := time.Now()
	args := executeArgs{Number: c.number(), Request: req, Stdout: req.Stdout != nil, Stderr: req.Stderr != nil, Over: ctx.Err() != nil}
	args.Request.Stdout, args.Request.Stderr = nil, nil
	if c.dir != "" && !filepath.IsAbs(req.Dir) {
		args.Request.Dir = filepath.Join(c.dir, req.Dir)
	}
	args.Request.Env = slices.Clone(req.Env) // the caller may change req.Env once Execute has returned
	live := c.receiveLive(args.Number, req.Stdout, req.Stderr)
	if live != nil {
		args.Live = live.id
	}
	timeout := cmp.Or(req.Timeout, req.Mode.DefaultTimeout())
	answer := timeout
	if !req.Mode.Waits() {
		answer = 0
	}
	result, err := c.call(ctx, "Plugin.Execute", args.Number, args, bound{answer: answer})
	if err != nil {
		live.stop()
		return nil, err
	}
	rest := liveRest
	if req.Lossless && result.Status != StatusRunning && len(result.Leftover) == 0 {
		rest = max(rest, timeout-time.Since(started))
	}
	live.wait(ctx, rest)
	return result, nil
}

// Check implements Bash.
func (c *client) Check(ctx context.Context, req CheckRequest) (*Result, error) {
	n := c.number()
	return c.call(ctx, "Plugin.Check", n, checkArgs{n, req}, bound{answer: req.Wait})
}

// Kill implements Bash.
func (c *client) Kill(ctx context.Context, req KillRequest) (*Result, error) {
	n := c.number()
	grace := max(0, cmp.Or(req.Grace, DefaultGrace))
	return c.call(ctx, "Plugin.Kill", n, killArgs{n, req}, bound{answer: grace, cancel: grace})
}

// close asks the plugin to end all it runs.
func (c *client) close(ctx context.Context) error {
	n := c.number()
	_, err := c.call(ctx, "Plugin.Close", n, n, bound{})
	return err
}

// bound is how long the plugin may take by the terms of a request.
type bound struct {
	answer time.Duration
	cancel time.Duration // from the end of the context on
}

// number begins a call.
func (c *client) number() number {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.open[c.last] = true
	n := number{Call: c.last, Oldest: c.last}
	for call := range c.open {
		n.Oldest = min(n.Oldest, call)
	}
	return n
}

func (c *client) end(n number) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, n.Call)
}

// send makes a call, again on each line until one lasts until its reply.
func (c *client) send(method string, args, reply any) error {
	for at := c.line.after(line{}); at.conn != nil; at = c.line.after(at) {
		err := at.conn.Call(method, args, reply)
		_, answered := errors.AsType[rpc.ServerError](err)
		if err == nil || answered || !c.resumes {
			return err
		}
	}
	return rpc.ErrShutdown
}

func (c *client) call(ctx context.Context, method string, n number, args any, most bound) (*Result, error) {
	defer c.end(n)
	r := new(reply)
	var failed error
	done := make(chan struct{})
	go func() { // a plugin that is stopped does not even take a large request
		defer close(done)
		failed = c.send(method, args, r)
	}()
	if err := c.await(ctx, done, n.Call, most); err != nil {
		return nil, err
	}
	switch {
	case failed != nil:
		return nil, callError(failed)
	case r.Err != nil:
		return nil, r.Err
	case r.Result == nil:
		return nil, &Error{Code: CodeInternal, Message: "the plugin answered with neither a Result nor an error"}
	}
	return r.Result, nil
}

// await waits for done, the end of the call with this number. It returns an
// error where the plugin does not answer.
func (c *client) await(ctx context.Context, done <-chan struct{}, number uint64, most bound) error {
	const longest = math.MaxInt64 - max(lookTime, cancelPatience)
	answer := min(max(most.answer, 0), longest)
	if c.held {
		answer = longest
	}
	look := time.After(answer + lookTime)
	over := ctx.Done()
	var patience <-chan time.Time
	for looks := 1; ; {
		select {
		case <-done:
			return nil
		case <-over:
			cause := context.Cause(ctx)
			args := cancelArgs{Call: number, LetRun: errors.Is(cause, ErrLetRun), Detach: errors.Is(cause, ErrDetach)}
			go func() { _ = c.send("Plugin.Cancel", args, new(nothing)) }()
			over, patience = nil, time.After(min(most.cancel, longest)+cancelPatience)
		case <-patience:
			return ctx.Err()
		case <-look:
			isStopped := c.stopped != nil && c.stopped()
			if at, _ := c.line.get(); at == (line{}) {
				looks = 0 // it cannot answer
			}
			switch {
			case isStopped && ctx.Err() != nil: // the plugin may go on, for other calls
				return ctx.Err()
			case isStopped || looks == maxLooks:
				return &Error{Code: CodeCrashed, Message: "the plugin does not answer: it is stopped, or the machine is overloaded"}
			}
			looks++
			look = time.After(lookTime)
		}
	}
}
