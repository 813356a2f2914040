package session

import (
	"context"
	"sync"
	"time"
)

// Session is one host's use of the plugin: its calls and streams, which outlive a connection.
type Session struct {
	server   *Server
	name     string
	identity string
	served   Served

	mu       sync.Mutex // guards the fields below
	endpoint *Endpoint  // nil: the connection is lost
	attempt  uint64     // the number of the latest connection
	linger   time.Duration
	lostAt   time.Time

	// late ends the session of a host that does not come back; nil: no connection was ever lost.
	late *time.Timer

	ended   bool
	calls   map[uint64]*Call
	streams map[uint64]*Stream

	// finished are the calls and streams that the host is done with.
	finished numbers
}

// Call is a call that has arrived, or whose cancel has arrived first.
type Call struct {
	// Context ends with the call, or when the host cancels it.
	Context context.Context

	Live *Stream // nil: the host takes no live bytes

	cancel   context.CancelCauseFunc
	session  *Session
	begun    bool
	answered chan struct{} // closed when reply is set
	reply    any

	mu      sync.Mutex // guards the fields below
	givenUp bool
	unseen  func()
}

// Served returns what the session serves.
func (c *Call) Served() any { return c.session.served.Value }

// SetLinger limits how long the session outlives the loss of its connection.
func (c *Call) SetLinger(most time.Duration) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linger = min(s.linger, most)
}

// Unseen makes f run if the host gives the call up, so that it never sees the reply.
func (c *Call) Unseen(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unseen = f
}

// giveUp notes that the host waits no longer.
func (c *Call) giveUp() {
	c.mu.Lock()
	c.givenUp = true
	c.mu.Unlock()
	c.settle()
}

// finish sets the reply.
func (c *Call) finish(reply any) {
	c.reply = reply
	c.cancel(nil)
	close(c.answered)
	c.settle()
}

// settle runs the function that Unseen has set, once the call is both answered and given up.
func (c *Call) settle() {
	select {
	case <-c.answered:
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.givenUp && c.unseen != nil {
		go c.unseen()
		c.unseen = nil
	}
}

// attach makes e the session's connection, in place of an earlier one.
func (s *Session) attach(e *Endpoint, args OpenArgs) bool {
	s.mu.Lock()
	if s.ended || args.Attempt <= s.attempt {
		s.mu.Unlock()
		return false
	}
	old := s.endpoint
	s.endpoint = e
	s.attempt = args.Attempt
	s.stopLateLocked()
	s.mu.Unlock()
	if old != nil {
		old.lost()
		if old.hangUp != nil {
			old.hangUp()
		}
	}
	if args.Resume != nil {
		s.resume(*args.Resume)
	}
	if s.server.IsDraining() {
		e.tell(newsDrain, "")
	}
	return true
}

// resume applies what the host says of its calls and streams.
func (s *Session) resume(progress Progress) {
	for _, cancel := range progress.Cancels {
		s.cancel(cancel)
	}
	done := below(progress.Next, progress.Open)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished.union(done)
	for n := range s.calls {
		if done.has(n) {
			delete(s.calls, n)
		}
	}
	for n, stream := range s.streams {
		if done.has(n) {
			stream.drop()
			delete(s.streams, n)
		}
	}
}

// detach ends the session of a connection that has ended, unless the host comes back.
func (s *Session) detach(e *Endpoint) {
	s.mu.Lock()
	if s.endpoint != e || s.ended {
		s.mu.Unlock()
		return
	}
	s.endpoint = nil
	s.lostAt = time.Now()
	attempt := s.attempt
	linger := s.linger
	if linger > 0 {
		s.late = time.AfterFunc(linger, func() { s.endLost(attempt) })
	}
	s.mu.Unlock()
	if linger == 0 {
		s.end("")
		return
	}
	s.server.limitLingering(s.identity)
}

func (s *Session) stopLateLocked() {
	if s.late != nil {
		s.late.Stop()
	}
}

// endLost ends the session if the connection of that attempt was the last one.
func (s *Session) endLost(attempt uint64) {
	s.mu.Lock()
	lost := s.attempt == attempt && s.endpoint == nil
	s.mu.Unlock()
	if lost {
		s.end("")
	}
}

func (s *Session) isLingering() (lingers bool, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoint == nil && s.attempt > 0, s.lostAt
}

func (s *Session) lingers() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.linger
}

func (s *Session) tell(kind byte, text string) {
	s.mu.Lock()
	e := s.endpoint
	s.mu.Unlock()
	if e != nil {
		e.tell(kind, text)
	}
}

// end ends the session. A host that has not asked for that is told the reason.
func (s *Session) end(reason string) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	e := s.endpoint
	s.stopLateLocked()
	s.mu.Unlock()
	if e != nil && reason != "" {
		e.tell(newsGoodbye, reason)
	}
	s.cancelAll()
	s.served.End()
	if e != nil {
		e.part(reason != "")
	}
	s.server.remove(s)
}

// cancelAll cancels the calls and drops the streams of a session that has ended.
func (s *Session) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		call.cancel(context.Canceled)
	}
	for _, stream := range s.streams {
		stream.drop()
	}
}

// begin returns a call, and whether it has come for the first time; nil: the host waits for
// it no longer.
func (s *Session) begin(n uint64) (call *Call, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished.has(n) {
		return nil, false
	}
	call = s.callLocked(n)
	first = !call.begun
	call.begun = true
	return call, first
}

func (s *Session) callLocked(n uint64) *Call {
	call := s.calls[n]
	if call == nil {
		call = &Call{session: s, answered: make(chan struct{})}
		call.Context, call.cancel = context.WithCancelCause(context.Background())
		if s.ended {
			call.cancel(nil)
		}
		s.calls[n] = call
	}
	return call
}

// cancel ends the context of a call, even of one that arrives later.
func (s *Session) cancel(c Cancel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished.has(c.Number) {
		return
	}
	call := s.callLocked(c.Number)
	if c.GiveUp {
		s.finished.add(c.Number)
		delete(s.calls, c.Number)
		call.giveUp()
	}
	call.cancel(s.server.Cause(c.Cause))
}

// done forgets calls and streams whose end the host has seen.
func (s *Session) done(ns []uint64) {
	if len(ns) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range ns {
		s.finished.add(n)
		delete(s.calls, n)
		if stream := s.streams[n]; stream != nil {
			stream.drop()
			delete(s.streams, n)
		}
	}
}

// liveBudget bounds the live bytes that are on their way over a connection. A stream of the
// multiplexer takes at least 128 KiB that the host has not read, so that the reply of a call never
// waits for live bytes.
const liveBudget = 96 << 10

// share is how much of liveBudget each stream may send at a time.
func (s *Session) share() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return liveBudget / max(1, len(s.streams))
}

// stream returns a stream, which may be asked for before its call arrives.
func (s *Session) stream(n uint64) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := s.streams[n]
	if stream == nil {
		stream = newStream()
		if s.ended || s.finished.has(n) {
			stream.drop()
			return stream
		}
		s.streams[n] = stream
	}
	return stream
}
