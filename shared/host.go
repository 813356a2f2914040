package shared

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Client is a Bash that runs in a plugin process of its own. When the plugin
// dies, the calls under way fail with ErrCrashed and the next one starts a
// fresh plugin; a call for a job of the old one fails with an error that
// matches ErrNotFound and ErrCrashed and names the job's logs. A Client is
// safe for concurrent use.
type Client struct {
	cfg  LaunchConfig
	jobs *jobBook
	turn chan struct{} // held while what follows is used, and while a plugin starts
	now  *session
	past []*session // that are being ended
	shut bool

	closing chan struct{} // closed by the first Close
	closed  sync.Once
}

var _ Bash = (*Client)(nil)

// session returns the live plugin's, starting one where there is none.
func (c *Client) session(ctx context.Context) (*session, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.shut {
		return nil, errClientClosed()
	}
	if c.now != nil && !c.now.gone() {
		return c.now, nil
	}
	c.past = slices.DeleteFunc(c.past, (*session).isOver)
	if c.now != nil {
		c.now.bury()
		c.past = append(c.past, c.now)
		c.now = nil
	}
	s, err := c.cfg.start(ctx, c.closing)
	if err != nil {
		if s != nil {
			c.past = append(c.past, s)
		}
		return nil, err
	}
	c.now = s
	return s, nil
}

func errClientClosed() error { return &Error{CodeClosed, "the client is closed: launch another one"} }

// do makes a call about a job (0: none yet), on a fresh plugin where there is
// none. A plugin that somebody else is ending has done nothing for the call: it
// is made once more.
func (c *Client) do(ctx context.Context, pid int, call func(Bash) (*Result, error)) (*Result, error) {
	r, err := c.try(ctx, pid, call)
	if errors.Is(err, ErrClosed) && !c.isShut() {
		r, err = c.try(ctx, pid, call)
	}
	return r, err
}

func (c *Client) try(ctx context.Context, pid int, call func(Bash) (*Result, error)) (*Result, error) {
	s, err := c.patientSession(ctx)
	if err != nil {
		return nil, err
	}
	r, err := call(s.bash)
	if errors.Is(err, ErrCrashed) || errors.Is(err, ErrClosed) {
		if c.isShut() {
			return nil, errClientClosed()
		}
		s.bury()
	}
	if err == nil {
		c.jobs.note(s.pid, r)
	}
	return r, c.jobs.explain(s.pid, pid, err)
}

// patientSession is session for a context that may be over: the plugin
// accounts for that, if it starts in time.
func (c *Client) patientSession(ctx context.Context) (*session, error) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(cancelPatience, cancel) })
	defer stop()
	s, err := c.session(patient)
	if patient.Err() != nil {
		return nil, ctx.Err()
	}
	return s, err
}

// isShut does not wait for a start that is under way.
func (c *Client) isShut() bool { return isClosed(c.closing) }

// Execute implements Bash.
func (c *Client) Execute(ctx context.Context, req ExecuteRequest) (*Result, error) {
	return c.do(ctx, 0, func(b Bash) (*Result, error) { return b.Execute(ctx, req) })
}

// Check implements Bash.
func (c *Client) Check(ctx context.Context, req CheckRequest) (*Result, error) {
	return c.do(ctx, req.PID, func(b Bash) (*Result, error) { return b.Check(ctx, req) })
}

// Kill implements Bash.
func (c *Client) Kill(ctx context.Context, req KillRequest) (*Result, error) {
	r, err := c.do(ctx, req.PID, func(b Bash) (*Result, error) { return b.Kill(ctx, req) })
	if err == nil {
		c.jobs.forget(req.PID, r)
	}
	return r, err
}

// Close ends every command and the plugin, and returns when nothing of them is
// left, within 5 s even if the plugin is stuck. Calls under way return what
// their commands came to; later calls fail with ErrClosed. Closing again returns
// the same, then too. An error says what could not be ended, or what else the
// plugin could not clear up.
func (c *Client) Close() error {
	c.closed.Do(func() { close(c.closing) })
	c.turn <- struct{}{}
	if c.shut = true; c.now != nil {
		c.now.close()
		c.past = append(c.past, c.now)
		c.now = nil
	}
	past := c.past
	<-c.turn
	errs := make([]error, len(past))
	var closing sync.WaitGroup
	for i, s := range past {
		closing.Go(func() { errs[i] = s.await() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// PluginPID returns the pid of the plugin's process, 0 where none is running.
// It waits for a start that is under way.
func (c *Client) PluginPID() int {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.now == nil || c.now.gone() {
		return 0
	}
	return c.now.pid
}
