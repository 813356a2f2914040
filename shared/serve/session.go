package serve

import (
	"errors"
	"net/rpc"
	"time"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/half"
	"bashplugin/shared/internal/muxconn"
)

// session is what a Remote has for one host. The Remote's mu guards conn and timer.
type session struct {
	half.Session

	conn  *remoteConn // the present or last one
	timer *time.Timer // ends the session of a host that has not come back; nil: it is connected
}

// remoteConn is one connection of a host on another machine. To go-plugin it is the Plugin
// that this connection dispenses.
type remoteConn struct {
	*muxconn.Conn
	remote *Remote
	host   string
	name   string // of its session; "": not open; guarded by the Remote's mu
}

type openArgs = half.OpenArgs[shared.SessionConfig]

// service is the net/rpc service of shared.Plugin, with what this package alone may do
// with it.
type service interface {
	OpenBy(func(openArgs, *plugin.MuxBroker) (half.Session, error))
	NewSession(impl shared.Bash, linger time.Duration) half.Session
}

// Server is called by go-plugin.
func (c *remoteConn) Server(broker *plugin.MuxBroker) (any, error) {
	server, err := new(shared.Plugin).Server(broker)
	if err != nil {
		return nil, err
	}
	calls := server.(service)
	calls.OpenBy(func(args openArgs, broker *plugin.MuxBroker) (half.Session, error) {
		return c.open(calls, args, broker)
	})
	return server, nil
}

// Client is never called.
func (c *remoteConn) Client(*plugin.MuxBroker, *rpc.Client) (any, error) {
	return nil, errors.New("this is a plugin")
}

// open begins a session, or goes on with one whose connection is lost, or is about to be
// noticed as lost.
func (c *remoteConn) open(calls service, args openArgs, broker *plugin.MuxBroker) (half.Session, error) {
	r := c.remote
	args.Config.Host = c.host
	var s *session
	if !args.Again {
		impl, err := r.Open(args.Config)
		if err != nil {
			return nil, err
		}
		linger := max(0, min(args.Linger, r.MaxLinger))
		s = &session{Session: calls.NewSession(impl, linger)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch known := r.sessions[args.Session]; {
	case s == nil:
		s = known
	case r.draining || known != nil || c.name != "":
		_ = s.Close() // it has no commands
		return nil, &shared.Error{
			Code:    shared.CodeClosed,
			Message: "the plugin takes no new sessions, because it is about to end: connect to another one",
		}
	default:
		r.sessions[args.Session] = s
		r.all.Add(1)
	}
	if s == nil || c.name != "" || s.timer != nil && !s.timer.Stop() {
		return nil, &shared.Error{Code: shared.CodeNotFound, Message: "the session has ended"}
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	c.name, s.conn, s.timer = args.Session, c, nil
	s.SetBroker(broker)
	if c.HasEnded() { // lost may not have seen the name
		go c.lost()
	}
	return s.Session, nil
}

// lost ends the session of a connection that has ended, unless the host comes back.
func (c *remoteConn) lost() {
	r := c.remote
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[c.name]; s != nil && s.conn == c && s.timer == nil {
		s.SetBroker(nil)
		s.timer = time.AfterFunc(s.Linger(), func() { r.end(c.name) })
	}
}
