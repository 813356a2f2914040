package shared

import (
	"context"
	"math"
	"net"
	"net/rpc"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
)

const (
	// cancelPatience is how long a call whose context has ended waits for the
	// plugin's account before it returns the context's error.
	cancelPatience = 3 * time.Second
	// answerPatience is how long a plugin may take beyond what a request
	// allows before it counts as gone; one whose process is stopped may only
	// take stoppedPatience.
	answerPatience  = 20 * time.Second
	stoppedPatience = 3 * time.Second
	// suspended is how late a timer is only where this process was stopped
	// itself: the plugin may have answered, and gets its time again.
	suspended = 1 * time.Second
)

// client is the host's side of one connection: a Bash whose calls travel.
type client struct {
	broker   *plugin.MuxBroker
	conn     *rpc.Client
	lifeline atomic.Pointer[net.Conn] // held open until the connection ends
	next     atomic.Uint64            // number of the last call
	stopped  func() bool              // tells of the plugin's process; nil: nothing does
	held     bool                     // the plugin may be under a debugger: an answer may take any time
}

var _ Bash = (*client)(nil)

func newClient(broker *plugin.MuxBroker, conn *rpc.Client) *client {
	c := &client{broker: broker, conn: conn}
	id := broker.NextId()
	go func() {
		var r openReply
		if conn.Call("Plugin.Open", openArgs{id}, &r) != nil || r.Told { // an implementation may do without
			return
		}
		for range 2 { // this process may be stopped for a while
			if line, err := broker.Accept(id); err == nil {
				c.lifeline.Store(&line)
				return
			}
		}
	}()
	return c
}

// Execute implements Bash.
func (c *client) Execute(ctx context.Context, req ExecuteRequest) (*Result, error) {
	stdout, wholeOut := bareWriter(req.Stdout)
	stderr, wholeErr := bareWriter(req.Stderr)
	args := executeArgs{Call: c.next.Add(1), Request: req, Stdout: stdout != nil, Stderr: stderr != nil, Partial: !wholeOut && !wholeErr, Over: ctx.Err() != nil}
	args.Request.Stdout, args.Request.Stderr = nil, nil
	args.Request.Env = slices.Clone(req.Env) // the caller's own once this has returned
	live := receiveLive(c.broker, stdout, stderr)
	if live != nil {
		args.Live = live.id
	}
	result, err := c.ask(ctx, "Plugin.Execute", args.Call, args, executeBound(req))
	switch {
	case live == nil:
	case err != nil:
		live.callReturned(err)
		live.settle(liveFails)
		live.stop()
	default:
		live.callReturned(nil)
		if result.Status != StatusRunning && len(result.Leftover) == 0 {
			live.settle(liveArrives)
		}
	}
	return result, err
}

// Check implements Bash.
func (c *client) Check(ctx context.Context, req CheckRequest) (*Result, error) {
	call := c.next.Add(1)
	return c.ask(ctx, "Plugin.Check", call, checkArgs{call, req}, bound{answer: req.Wait})
}

// Kill implements Bash.
func (c *client) Kill(ctx context.Context, req KillRequest) (*Result, error) {
	call := c.next.Add(1)
	grace := max(req.Grace, DefaultGrace)
	return c.ask(ctx, "Plugin.Kill", call, killArgs{call, req}, bound{answer: grace, cancel: grace})
}

// close asks the plugin to end all it runs.
func (c *client) close(ctx context.Context) error {
	_, err := c.call(ctx, "Plugin.Close", 0, nothing{}, bound{})
	return err
}

// bound is how long the plugin may take for a request by its own terms.
type bound struct {
	answer time.Duration
	cancel time.Duration // from the end of the context on
}

func executeBound(req ExecuteRequest) bound {
	switch {
	case req.Mode == ModeBackground:
		return bound{}
	case req.Timeout == 0:
		return bound{answer: DefaultTimeout}
	}
	return bound{answer: req.Timeout}
}

// ask makes a call that is answered with a Result.
func (c *client) ask(ctx context.Context, method string, number uint64, args any, most bound) (*Result, error) {
	result, err := c.call(ctx, method, number, args, most)
	if result == nil && err == nil {
		err = &Error{CodeInternal, "the plugin answered with neither a Result nor an error"}
	}
	return result, err
}

// call makes one call.
func (c *client) call(ctx context.Context, method string, number uint64, args any, most bound) (*Result, error) {
	r := new(reply)
	var failed error
	done := make(chan struct{})
	go func() { // a plugin that is stopped does not even take a large request
		defer close(done)
		failed = c.conn.Call(method, args, r)
	}()
	if err := c.await(ctx, done, number, most); err != nil {
		go func() {
			if <-done; failed == nil {
				c.discard(r)
			}
		}()
		return nil, err
	}
	switch {
	case failed != nil:
		return nil, callError(failed)
	case r.Err != nil:
		return nil, r.Err
	case r.Bulk != 0:
		return c.fetch(ctx, number, r.Bulk)
	}
	return r.Result, nil
}

// discard takes what a reply that nobody waits for any more refers to: the plugin
// would keep it.
func (c *client) discard(r *reply) {
	if r.Bulk != 0 {
		_, _ = fetchBulk(c.broker, r.Bulk)
	}
}

// fetch gets the Result that a call has left on a stream.
func (c *client) fetch(ctx context.Context, number uint64, id uint32) (*Result, error) {
	var result *Result
	var err error
	fetched := make(chan struct{})
	go func() {
		defer close(fetched)
		result, err = fetchBulk(c.broker, id)
	}()
	if err := c.await(ctx, fetched, number, bound{}); err != nil {
		return nil, err
	}
	return result, err
}

// await waits for done, by which a call with a number goes on. It returns an
// error where the plugin does not get there.
func (c *client) await(ctx context.Context, done <-chan struct{}, number uint64, most bound) error {
	const longest = math.MaxInt64 - answerPatience
	answer := min(max(most.answer, 0), longest)
	if c.held {
		answer = longest
	}
	due := time.Now().Add(answer + answerPatience)
	overdue, late := time.NewTimer(answer+answerPatience), time.NewTimer(answer+stoppedPatience)
	defer overdue.Stop()
	defer late.Stop()
	over := ctx.Done()
	var patience <-chan time.Time
	for {
		select {
		case <-done:
			return nil
		case <-over:
			go func() { _ = c.conn.Call("Plugin.Cancel", number, new(nothing)) }()
			timer := time.NewTimer(min(most.cancel, longest) + cancelPatience)
			defer timer.Stop()
			over, patience = nil, timer.C
		case <-patience:
			return ctx.Err()
		case <-late.C:
			switch {
			case c.stopped == nil || !c.stopped():
			case ctx.Err() != nil: // it may go on, for others
				return ctx.Err()
			default:
				return errOverdue()
			}
		case <-overdue.C:
			if time.Since(due) < suspended {
				return errOverdue()
			}
			due = time.Now().Add(answerPatience)
			overdue.Reset(answerPatience)
		}
	}
}

func errOverdue() error {
	return &Error{CodeCrashed, "the plugin does not answer: it is stopped, or the machine is overloaded"}
}
