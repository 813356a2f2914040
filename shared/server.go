package shared

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared/internal/half"
)

// server is the plugin's side of one connection: it passes the host's calls on to
// the session's Bash. Its exported methods are the net/rpc service.
type server struct {
	broker  *plugin.MuxBroker
	open    opener // nil: for the host that started this process
	logs    string
	session atomic.Pointer[session] // of a remote host: nil until Open
}

// opener returns the session of a host on another machine.
type opener = func(openArgs, *plugin.MuxBroker) (half.Session, error)

// OpenBy is for package serve: it makes s the server of a host on another machine.
func (s *server) OpenBy(open opener) {
	s.open = open
	s.session.Store(nil)
}

// NewSession is for package serve: it makes the session of such a host.
func (s *server) NewSession(impl Bash, linger time.Duration) half.Session {
	own := &session{impl: impl}
	own.linger.Store(int64(linger))
	own.calls.keeps = linger > 0
	return own
}

// session is what the plugin has for one host.
type session struct {
	impl   Bash
	calls  calls
	broker current[*plugin.MuxBroker] // of the connection
	gone   func()                     // called when the host is gone; nil: nobody asks
	linger atomic.Int64               // how long it outlives a lost connection, a time.Duration; 0 once it is closed
}

// SetBroker implements half.Session.
func (s *session) SetBroker(broker *plugin.MuxBroker) { s.broker.set(broker, false) }

// Linger implements half.Session.
func (s *session) Linger() time.Duration { return time.Duration(s.linger.Load()) }

// Open begins the session, or goes on with one. From a host that started this process it
// takes the lifeline, a stream that ends with the host.
func (s *server) Open(args openArgs, r *openReply) error {
	if s.open != nil {
		opened, err := s.open(args, s.broker)
		r.Err = wireError(err)
		if err == nil {
			r.Linger = opened.Linger()
			s.session.Store(opened.(*session))
		}
		return nil
	}
	r.Logs = s.logs
	go func() {
		conn, err := dialHost(s.broker, args.Lifeline)
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
		s.session.Load().End()
	}()
	return nil
}

// dialHost opens a stream to the host. It tries twice: the broker gives up after 5 s, for
// which the host may have been stopped.
func dialHost(broker *plugin.MuxBroker, id uint32) (net.Conn, error) {
	conn, err := broker.Dial(id)
	if err != nil {
		conn, err = broker.Dial(id)
	}
	return conn, err
}

// End cancels the calls of a host that is gone.
func (s *session) End() {
	s.calls.cancelAll()
	s.broker.set(nil, true)
	if s.gone != nil {
		s.gone()
	}
}

// Execute serves Bash.Execute.
func (s *server) Execute(args executeArgs, r *reply) error {
	return s.serve(args.Number, r, func(ctx context.Context, session *session) (result *Result, err error) {
		req := args.Request
		if args.Live != 0 {
			live := newLiveSender(session, args.Live)
			if args.Stdout {
				req.Stdout = live.writer(frameStdout)
			}
			if args.Stderr {
				req.Stderr = live.writer(frameStderr)
			}
			defer func() { go live.returned(result) }() // the reply does not wait for a slow host
		}
		if args.Over {
			session.calls.cancel(args.Number.Call, nil)
		}
		return session.impl.Execute(ctx, req)
	})
}

// Check serves Bash.Check.
func (s *server) Check(args checkArgs, r *reply) error {
	return s.serve(args.Number, r, func(ctx context.Context, session *session) (*Result, error) {
		return session.impl.Check(ctx, args.Request)
	})
}

// Kill serves Bash.Kill.
func (s *server) Kill(args killArgs, r *reply) error {
	return s.serve(args.Number, r, func(ctx context.Context, session *session) (*Result, error) {
		return session.impl.Kill(ctx, args.Request)
	})
}

// Cancel ends the context of a call, even of one that arrives later.
func (s *server) Cancel(args cancelArgs, _ *nothing) error {
	var cause error
	switch {
	case args.Detach:
		cause = ErrDetach
	case args.LetRun:
		cause = ErrLetRun
	}
	if session := s.session.Load(); session != nil {
		session.calls.cancel(args.Call, cause)
	}
	return nil
}

// Close ends the session's commands.
func (s *server) Close(n number, r *reply) error {
	return s.serve(n, r, func(_ context.Context, session *session) (*Result, error) {
		return new(Result), session.Close()
	})
}

// Close closes the implementation, if it can be closed.
func (s *session) Close() error {
	s.linger.Store(0)
	if closer, ok := s.impl.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// serve runs one call, or waits for the same call that came before. A panic ends that
// call alone.
func (s *server) serve(n number, r *reply, f func(context.Context, *session) (*Result, error)) error {
	session := s.session.Load()
	if session == nil {
		return errors.New("there is no session yet")
	}
	call, ctx := session.calls.begin(n)
	switch {
	case call == nil:
		return errors.New("the host has given this call up")
	case ctx == nil:
		<-call.done
		*r = call.reply
		return nil
	}
	defer func() { session.calls.end(n, *r) }()
	defer func() {
		if p := recover(); p != nil {
			*r = reply{Err: &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin panicked: %v\n%s", p, debug.Stack())}}
		}
	}()
	result, err := f(ctx, session)
	if r.Err = wireError(err); err == nil {
		r.Result = result
	}
	return nil
}

// calls are the calls under way, by the number that the host gave them, and the replies
// that a host may ask for again. They are safe for concurrent use.
type calls struct {
	mu     sync.Mutex // guards the fields below
	known  map[uint64]*call
	early  []uint64 // calls cancelled before they came, or after they ended; the newest maxEarly
	oldest uint64   // no call before it runs any more
	keeps  bool     // a reply is kept until the host has it
	ended  bool
}

const maxEarly = 1024

// call is a call under way, or one with a reply.
type call struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the reply is there
	reply  reply
}

// begin returns a call and its context. If the host has sent the call before, the context is
// nil and the call is the same; if the host waits for it no longer, the call is nil too.
func (c *calls) begin(n number) (*call, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.oldest = max(c.oldest, n.Oldest)
	if c.keeps {
		maps.DeleteFunc(c.known, func(n uint64, call *call) bool { return n < c.oldest && isClosed(call.done) })
	}
	if known := c.known[n.Call]; known != nil || n.Call < c.oldest {
		return known, nil
	}
	if c.known == nil {
		c.known = make(map[uint64]*call)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c.known[n.Call] = &call{cancel: cancel, done: make(chan struct{})}
	if c.ended || slices.Contains(c.early, n.Call) {
		cancel(nil)
	}
	return c.known[n.Call], ctx
}

// end records the reply of a call.
func (c *calls) end(n number, r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.known[n.Call]
	call.reply = r
	call.cancel(nil)
	close(call.done)
	if !c.keeps {
		delete(c.known, n.Call)
	}
}

// cancel ends the context of a call. A cause of nil is context.Canceled.
func (c *calls) cancel(number uint64, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.known[number]; call != nil {
		call.cancel(cause)
		return
	}
	if c.early = append(c.early, number); len(c.early) > maxEarly {
		c.early = c.early[1:]
	}
}

func (c *calls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, call := range c.known {
		call.cancel(nil)
	}
}
