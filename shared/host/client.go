package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"bashplugin/shared"
)

// Client is a Bash that runs in a plugin process of its own, or in a session of a plugin
// on another machine. When the plugin dies, the calls under way fail with ErrCrashed and
// the next one starts a fresh plugin or session; a call for a job of the old one fails
// with an error that matches ErrNotFound and ErrCrashed and names the job's logs. A Client
// is safe for concurrent use.
type Client struct {
	// reach makes a link to a fresh plugin.
	reach func(context.Context) (*link, error)

	jobs jobBook
	life context.Context // ends with the first Close
	shut context.CancelFunc

	draining chan struct{}
	drain    func() // closes draining

	// turn is a lock for the fields below. It is also held while a plugin starts.
	turn chan struct{}

	now *link // nil: none

	// left says what could not be ended of earlier plugins.
	left error
}

var _ shared.Bash = (*Client)(nil)

// open makes a Client and its first link.
func open(ctx context.Context, reach func(context.Context) (*link, error)) (*Client, error) {
	c := &Client{reach: reach, draining: make(chan struct{}), turn: make(chan struct{}, 1)}
	c.drain = sync.OnceFunc(func() { close(c.draining) })
	c.life, c.shut = context.WithCancel(context.Background())
	if _, err := c.link(ctx); err != nil {
		c.shut()
		return nil, err
	}
	return c, nil
}

// link returns the link to the live plugin. It starts a plugin if there is none.
func (c *Client) link(ctx context.Context) (*link, error) {
	select {
	case c.turn <- struct{}{}:
	case <-c.life.Done():
		return nil, errClientClosed()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer c.endTurn()
	switch {
	case c.isShut():
		return nil, errClientClosed()
	case c.now != nil && !c.now.isGone():
		return c.now, nil
	}
	c.endLocked() // so that a fresh plugin finds neither processes nor ports of the old one
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	l, err := c.reach(ctx)
	if err != nil {
		if c.isShut() {
			err = errClientClosed()
		}
		return nil, err
	}
	c.now = l
	go c.follow(l)
	return l, nil
}

// follow closes draining if the plugin says that it will end.
func (c *Client) follow(l *link) {
	select {
	case <-l.session.Draining():
		c.drain()
	case <-l.session.Ended():
	}
}

// Draining is closed when the plugin says that it will end, as a plugin on another machine does when it
// is stopped. Calls go on until the plugin ends their session. The next call then begins another
// session, with an instance that takes new ones.
func (c *Client) Draining() <-chan struct{} { return c.draining }

// cancelPatience is how long a call whose context has ended waits for a plugin that starts.
const cancelPatience = 3 * time.Second

// patientLink is link for a context that may have ended: link still gets
// cancelPatience, so that the plugin can answer the cancelled call.
func (c *Client) patientLink(ctx context.Context) (*link, error) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cancelPatience, cancel) })()
	l, err := c.link(patient)
	if patient.Err() != nil {
		return nil, ctx.Err()
	}
	return l, err
}

func (c *Client) endTurn() { <-c.turn }

// isShut reports whether Close was called. It never blocks.
func (c *Client) isShut() bool { return c.life.Err() != nil }

func errClientClosed() error {
	return &shared.Error{Code: shared.CodeClosed, Message: "the client is closed: launch another one"}
}

// ask is one method of a plugin's Bash, with its request.
type ask func(shared.Bash) (*shared.Result, error)

// do makes a call about the job pid (0: none yet). It starts a plugin if there is
// none.
func (c *Client) do(ctx context.Context, pid int, call ask) (*shared.Result, error) {
	l, err := c.patientLink(ctx)
	if err != nil {
		return nil, err
	}
	err = c.jobs.check(l.id, pid)
	if err != nil {
		return nil, err
	}
	r, err := call(l.bash)
	switch {
	case err == nil:
		c.jobs.note(l.id, r)
		return r, nil
	case errors.Is(err, shared.ErrCrashed), errors.Is(err, shared.ErrClosed):
		if c.isShut() {
			return nil, errClientClosed()
		}
		l.kill()
		if errors.Is(err, shared.ErrClosed) {
			err = errors.New("the plugin is gone: it is being ended, and not by this Client")
		}
		return nil, l.lost(err)
	}
	return nil, err
}

// Execute implements Bash.
func (c *Client) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	return c.do(ctx, 0, func(b shared.Bash) (*shared.Result, error) { return b.Execute(ctx, req) })
}

// Check implements Bash.
func (c *Client) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	return c.do(ctx, req.PID, func(b shared.Bash) (*shared.Result, error) { return b.Check(ctx, req) })
}

// Kill implements Bash.
func (c *Client) Kill(ctx context.Context, req shared.KillRequest) (*shared.Result, error) {
	r, err := c.do(ctx, req.PID, func(b shared.Bash) (*shared.Result, error) { return b.Kill(ctx, req) })
	if err == nil {
		c.jobs.forget(r.PID)
		for _, job := range r.Jobs {
			c.jobs.forget(job.PID)
		}
	}
	return r, err
}

// Close ends every command and the plugin, and returns when nothing of them is
// left, within 5 s even if the plugin is stuck. Calls under way return the
// outcome of their commands; later calls fail with ErrClosed. Another Close waits
// and returns the same. An error says what could not be ended, or what else the
// plugin could not clean up.
func (c *Client) Close() error {
	c.shut()
	c.turn <- struct{}{}
	defer c.endTurn()
	c.endLocked()
	return c.left
}

// endLocked ends the plugin, if there is one.
func (c *Client) endLocked() {
	if c.now != nil {
		c.left = errors.Join(c.left, c.now.end())
		c.now = nil
	}
}

// PluginPID returns the pid of the plugin's process, 0 if none is running on this machine.
// It waits for a start that is under way.
func (c *Client) PluginPID() int {
	c.turn <- struct{}{}
	defer c.endTurn()
	if c.now == nil || c.now.isGone() {
		return 0
	}
	return max(0, c.now.id)
}
