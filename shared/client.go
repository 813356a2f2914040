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

	"bashplugin/shared/internal/half"
)

const (
	// A plugin that takes longer than a request allows counts as gone after maxLooks
	// looks, lookTime apart; if its process is stopped, after one. Several looks give
	// a host that was itself stopped the time to read the answer.
	lookTime = 3 * time.Second
	maxLooks = 7
)

// client is the host's side of one session: a Bash that sends its calls.
type client struct {
	half.HostConfig
	line current[half.Line]
	logs string // where the plugin's commands have their logs; "": unknown

	mu   sync.Mutex      // guards the fields below
	last uint64          // number of the last call
	open map[uint64]bool // the calls under way
}

var _ Bash = (*client)(nil)

// begin begins the session with a plugin that this host has started.
func (c *client) begin(l half.Line) {
	c.line.set(l, false)
	lifeline, r := l.Broker.NextId(), new(openReply)
	go holdLifeline(l.Broker, lifeline)
	_ = l.Conn.Call("Plugin.Open", openArgs{Lifeline: lifeline}, r) // if the plugin is gone, the next call says so
	c.logs = r.Logs
}

// Configure is for package host, before the first call.
func (c *client) Configure(cfg half.HostConfig) { c.HostConfig = cfg }

// Open is for package host: it opens the session on a line to a plugin on another machine,
// which becomes the line of the next calls. It sets how long the session lingers.
func (c *client) Open(at half.Line, args *half.OpenArgs[SessionConfig]) error {
	r := new(openReply)
	if err := at.Conn.Call("Plugin.Open", *args, r); err != nil {
		return err
	}
	if r.Err != nil {
		return r.Err
	}
	args.Linger = r.Linger
	c.line.set(at, false)
	return nil
}

// LoseLine is for package host: there is no line at present, or with over ever again.
func (c *client) LoseLine(over bool) { c.line.set(half.Line{}, over) }

// Logs is for package host.
func (c *client) Logs() string { return c.logs }

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
	if c.Dir != "" && !filepath.IsAbs(req.Dir) {
		args.Request.Dir = filepath.Join(c.Dir, req.Dir)
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

// EndCommands is for package host: it asks the plugin to end all it runs.
func (c *client) EndCommands(ctx context.Context) error {
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
	for at := c.line.after(half.Line{}); at.Conn != nil; at = c.line.after(at) {
		err := at.Conn.Call(method, args, reply)
		_, answered := errors.AsType[rpc.ServerError](err)
		if err == nil || answered || !c.Resumes {
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
	const longest = math.MaxInt64 - max(lookTime, half.CancelPatience)
	answer := min(max(most.answer, 0), longest)
	if c.Held {
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
			over, patience = nil, time.After(min(most.cancel, longest)+half.CancelPatience)
		case <-patience:
			return ctx.Err()
		case <-look:
			isStopped := c.Stopped != nil && c.Stopped()
			if at, _ := c.line.get(); at == (half.Line{}) {
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
