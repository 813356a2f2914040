package shared

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/hashicorp/go-plugin"
)

// server is the plugin's side of one connection: it passes the host's calls on to
// impl. Its exported methods are the net/rpc service.
type server struct {
	impl         Bash
	broker       *plugin.MuxBroker
	disconnected func()
	logs         string
	calls        calls
}

// Open takes the lifeline, a stream that ends with the host. It returns where the logs
// are.
func (s *server) Open(lifeline uint32, logs *string) error {
	*logs = s.logs
	go func() {
		conn, err := s.broker.Dial(lifeline)
		if err != nil {
			conn, err = s.broker.Dial(lifeline)
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
		s.end()
	}()
	return nil
}

// end cancels the calls of a host that is gone.
func (s *server) end() {
	s.calls.cancelAll()
	if s.disconnected != nil {
		s.disconnected()
	}
}

// Execute serves Bash.Execute.
func (s *server) Execute(args executeArgs, r *reply) error {
	req := args.Request
	var live *liveSender
	if args.Live != 0 {
		var err error
		if live, err = dialLive(s.broker, args.Live); err != nil {
			return err // the host is gone
		}
		if args.Stdout {
			req.Stdout = live.writer(frameStdout)
		}
		if args.Stderr {
			req.Stderr = live.writer(frameStderr)
		}
	}
	if args.Over {
		s.calls.cancel(args.Call, nil)
	}
	err := s.serve(args.Call, r, func(ctx context.Context) (*Result, error) {
		return s.impl.Execute(ctx, req)
	})
	if live != nil {
		go live.returned(r.Result) // the reply does not wait for a slow host
	}
	return err
}

// Check serves Bash.Check.
func (s *server) Check(args checkArgs, r *reply) error {
	return s.serve(args.Call, r, func(ctx context.Context) (*Result, error) {
		return s.impl.Check(ctx, args.Request)
	})
}

// Kill serves Bash.Kill.
func (s *server) Kill(args killArgs, r *reply) error {
	return s.serve(args.Call, r, func(ctx context.Context) (*Result, error) {
		return s.impl.Kill(ctx, args.Request)
	})
}

// Cancel ends the context of a call, even of one that arrives later.
func (s *server) Cancel(args cancelArgs, _ *nothing) error {
	var cause error
	if args.LetRun {
		cause = ErrLetRun
	}
	s.calls.cancel(args.Call, cause)
	return nil
}

// Close closes the implementation, if it can be closed.
func (s *server) Close(_ nothing, r *reply) error {
	return s.serve(0, r, func(context.Context) (*Result, error) {
		if closer, ok := s.impl.(io.Closer); ok {
			return new(Result), closer.Close()
		}
		return new(Result), nil
	})
}

// serve runs one call. A panic ends that call alone.
func (s *server) serve(call uint64, r *reply, f func(context.Context) (*Result, error)) error {
	ctx, end := s.calls.begin(call)
	defer end()
	defer func() {
		if p := recover(); p != nil {
			*r = reply{Err: &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin panicked: %v\n%s", p, debug.Stack())}}
		}
	}()
	result, err := f(ctx)
	if r.Err = wireError(err); err == nil {
		r.Result = result
	}
	return nil
}

// calls are the calls under way, by the number that the host gave them. They are
// safe for concurrent use.
type calls struct {
	mu      sync.Mutex // guards the fields below
	cancels map[uint64]context.CancelCauseFunc
	early   []uint64 // calls cancelled before they came, or after they ended; the newest maxEarly
	ended   bool
}

const maxEarly = 1024

// begin returns the context of a call, and a function to call at its end.
func (c *calls) begin(call uint64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancels == nil {
		c.cancels = make(map[uint64]context.CancelCauseFunc)
	}
	c.cancels[call] = cancel
	if c.ended || slices.Contains(c.early, call) {
		cancel(nil)
	}
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.cancels, call)
		cancel(nil)
	}
}

// cancel ends the context of a call. A cause of nil is context.Canceled.
func (c *calls) cancel(call uint64, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.cancels[call]; cancel != nil {
		cancel(cause)
		return
	}
	if c.early = append(c.early, call); len(c.early) > maxEarly {
		c.early = c.early[1:]
	}
}

func (c *calls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, cancel := range c.cancels {
		cancel(nil)
	}
}
