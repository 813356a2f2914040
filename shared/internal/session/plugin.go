package session

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
)

// maxLingering is how many sessions of one host may wait for it to come back. The one that
// has waited longest ends first.
const maxLingering = 64

// Server is the plugin's half: it has the sessions of all hosts. It is safe for concurrent
// use. Its exported fields are set before the first Endpoint.
type Server struct {
	Version   int
	MaxLinger time.Duration

	// Cause returns the cause of a context that the host has cancelled.
	Cause func(name string) error

	// Open makes what a new session serves. identity is what the connection says of the host.
	// The host gets info: about its session, or if ok is false, why it has none.
	Open func(identity string, settings []byte) (served Served, info []byte, ok bool)

	mu       sync.Mutex // guards the fields below
	sessions map[*Session]bool
	draining bool

	// all counts the sessions. It grows under mu, until draining.
	all sync.WaitGroup
}

// Served is what a session's calls are about.
type Served struct {
	Value any
	End   func() // called once, when the session has ended
}

// Endpoint is the plugin's end of one connection. Its exported methods are part of the net/rpc
// service.
type Endpoint struct {
	server   *Server
	broker   *plugin.MuxBroker
	identity string
	hangUp   func()

	life    context.Context // ends with the connection
	lost    context.CancelFunc
	session atomic.Pointer[Session] // nil until Open

	// mu guards the fields below. It is held while news are written.
	mu sync.Mutex

	lifeline net.Conn // nil: not yet, or no more
	unsent   []byte   // news from before the lifeline
}

// Endpoint makes the end of a new connection. hangUp ends the connection; nil: go-plugin ends it.
func (s *Server) Endpoint(broker *plugin.MuxBroker, identity string, hangUp func()) *Endpoint {
	e := &Endpoint{server: s, broker: broker, identity: identity, hangUp: hangUp}
	e.life, e.lost = context.WithCancel(context.Background())
	return e
}

// Open begins a session, or goes on with one.
func (e *Endpoint) Open(args OpenArgs, reply *OpenReply) error {
	reply.Version = e.server.Version
	if args.Version != e.server.Version || e.session.Load() != nil {
		reply.Refused = true
		return nil
	}
	var s *Session
	if args.Resume == nil {
		s = e.server.begin(e.identity, args, reply)
	} else {
		s = e.server.find(e.identity, args.Name)
	}
	switch {
	case reply.Refused:
		return nil
	case s == nil:
		reply.Ended = true
		reply.Refused = true
		return nil
	case !s.attach(e, args):
		if args.Resume == nil { // a new session without its connection has no use
			s.end("")
		}
		reply.Ended = true
		reply.Refused = true
		return nil
	}
	reply.Linger = s.lingers()
	e.session.Store(s)
	go e.follow(s, args.Lifeline)
	return nil
}

// follow holds the lifeline until the connection ends.
func (e *Endpoint) follow(s *Session, id uint32) {
	conn, err := e.broker.Dial(id)
	if err != nil { // the broker gives up after 5 s; the host may have been stopped for that long
		conn, err = e.broker.Dial(id)
	}
	if err == nil {
		e.setLifeline(conn)
		_, _ = io.Copy(io.Discard, conn)
		e.setLifeline(nil)
		conn.Close()
	}
	e.lost()
	s.detach(e)
}

func (e *Endpoint) setLifeline(conn net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lifeline = conn
	e.sendLocked()
}

// tell sends news. It never waits for long.
func (e *Endpoint) tell(kind byte, text string) {
	text = text[:min(len(text), 1<<10)]
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsent = append(e.unsent, kind)
	e.unsent = binary.BigEndian.AppendUint16(e.unsent, uint16(len(text)))
	e.unsent = append(e.unsent, text...)
	e.sendLocked()
}

func (e *Endpoint) sendLocked() {
	if e.lifeline == nil || len(e.unsent) == 0 {
		return
	}
	_ = e.lifeline.SetWriteDeadline(time.Now().Add(time.Second)) // of a host that does not read
	_, _ = e.lifeline.Write(e.unsent)
	e.unsent = nil
}

// partTime is how long a host that is told the reason of the end may take to hang up. If the
// plugin hung up at once, the reason could be lost on the way.
const partTime = time.Second

// part ends the connection.
func (e *Endpoint) part(isTold bool) {
	if isTold {
		select {
		case <-e.life.Done():
		case <-time.After(partTime):
		}
	}
	if e.hangUp != nil {
		e.hangUp()
	}
}

// Tell takes news of the host.
func (e *Endpoint) Tell(args TellArgs, _ *Nothing) error {
	s := e.session.Load()
	if s == nil {
		return errNoSession
	}
	s.done(args.Done)
	for _, cancel := range args.Cancels {
		s.cancel(cancel)
	}
	if args.End {
		s.end("")
	}
	return nil
}

// Live answers with the next bytes of a stream.
func (e *Endpoint) Live(args LiveArgs, reply *LiveReply) (err error) {
	s := e.session.Load()
	if s == nil {
		return errNoSession
	}
	stream := s.stream(args.Number)
	*reply, err = stream.read(e.life, args.From, min(args.Most, s.share()))
	return err
}

var errNoSession = errors.New("there is no session yet")

// Answer answers a request: by f or, if it has come before, with the same reply.
func Answer[Q, A any](e *Endpoint, request Request[Q], reply *Reply[A], f func(*Call, Q) A) error {
	s := e.session.Load()
	if s == nil {
		return errNoSession
	}
	s.done(request.Done)
	call, first := s.begin(request.Number)
	switch {
	case call == nil:
		reply.Refused = "the host has given this call up"
		return nil
	case first:
		if request.Cancelled {
			call.cancel(context.Canceled)
		}
		if request.Stream != 0 {
			call.Live = s.stream(request.Stream)
		}
		call.finish(f(call, request.Value))
	default:
		select {
		case <-call.answered:
		case <-e.life.Done():
			return e.life.Err()
		}
	}
	value, ok := call.reply.(A)
	if !ok {
		reply.Refused = "another call had this number"
	}
	reply.Value = value
	return nil
}

// begin makes a session, unless the plugin drains.
func (s *Server) begin(identity string, args OpenArgs, reply *OpenReply) *Session {
	served, info, ok := s.Open(identity, args.Settings)
	reply.Info = info
	if !ok {
		reply.Refused = true
		return nil
	}
	session := &Session{
		server:   s,
		name:     args.Name,
		identity: identity,
		served:   served,
		linger:   max(0, min(args.Linger, s.MaxLinger)),
		calls:    make(map[uint64]*Call),
		streams:  make(map[uint64]*Stream),
	}
	s.mu.Lock()
	draining := s.draining
	if !draining {
		if s.sessions == nil {
			s.sessions = make(map[*Session]bool)
		}
		s.sessions[session] = true
		s.all.Add(1)
	}
	s.mu.Unlock()
	if draining {
		served.End() // it has run nothing
		reply.Refused = true
		return nil
	}
	return session
}

// find returns a host's session of this name, nil if there is none.
func (s *Server) find(identity, name string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		if session.identity == identity && session.name == name {
			return session
		}
	}
	return nil
}

func (s *Server) remove(session *Session) {
	s.mu.Lock()
	delete(s.sessions, session)
	s.mu.Unlock()
	s.all.Done()
}

// limitLingering ends the session that has lingered longest, if too many of that host linger.
func (s *Server) limitLingering(identity string) {
	var oldest *Session
	var since time.Time
	count := 0
	for _, session := range s.list() {
		lingers, from := session.isLingering()
		if session.identity != identity || !lingers {
			continue
		}
		count++
		if oldest == nil || from.Before(since) {
			oldest = session
			since = from
		}
	}
	if count > maxLingering {
		oldest.end("")
	}
}

func (s *Server) list() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Session
	for session := range s.sessions {
		all = append(all, session)
	}
	return all
}

// IsDraining reports whether no new sessions are taken.
func (s *Server) IsDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Drain takes no new sessions, tells the hosts, waits until patience ends or all sessions have
// ended, then ends them for a reason that their hosts are told. It returns when all have ended.
func (s *Server) Drain(patience context.Context, reason string) {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	for _, session := range s.list() {
		session.tell(newsDrain, reason)
	}
	stop := context.AfterFunc(patience, func() {
		for _, session := range s.list() {
			go session.end(reason)
		}
	})
	defer stop()
	s.all.Wait()
}
