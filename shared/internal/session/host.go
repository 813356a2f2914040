package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
)

const (
	// If a call is not answered in the time that it may take, from when it was sent, the host
	// looks every lookTime whether the plugin still works. After maxLooks the plugin counts as
	// gone; after one, if its process is stopped. Several looks give a host that was itself
	// stopped the time to read the answer.
	lookTime = 3 * time.Second
	maxLooks = 7

	// A call that its caller has cancelled waits cancelLooks times cancelLook for the plugin's
	// answer. There are several looks for the same reason: the host may have been stopped.
	cancelLook  = time.Second
	cancelLooks = 3

	// redialTime is the pause before an attempt to connect again.
	redialTime = 100 * time.Millisecond

	// redialPatience bounds an attempt to connect again.
	redialPatience = 10 * time.Second

	// tellTime is how long the news that a call has ended may wait for another call to carry it.
	tellTime = 100 * time.Millisecond
)

// Silence is how long nothing may come on a connection over a network before it counts as lost. Both
// sides send heartbeats, so that this holds behind proxies, and for a side that is stopped.
const Silence = 12 * time.Second

// Config configures a Host. Dial, Plugin, Version and Cause are required.
type Config struct {
	Dial     func(context.Context) (net.Conn, error)
	Plugin   string // the service's name in go-plugin
	Version  int    // of the contract
	Settings []byte // for the plugin

	// Linger is how long to dial again after a lost connection; 0: not at all.
	Linger time.Duration

	// Silence is how long nothing may come on a connection before it counts as lost; 0: however
	// long.
	Silence time.Duration

	// Log gets what the plugin sends as its stderr; nil: that is dropped.
	Log io.Writer

	// Cause tells the plugin the cause of a cancelled context.
	Cause func(error) string

	// Stopped reports whether the plugin's process is stopped; nil: the host cannot know.
	Stopped func() bool

	// Patient makes calls wait however long the answer takes: a debugger may hold the plugin.
	Patient bool

	// Changed is called when the connection is lost, and when it is made again; nil: nothing is
	// called.
	Changed func(lost bool)
}

// Lost is the error of calls of a session that has ended.
type Lost struct {
	Reason string

	// Planned is set if the plugin has ended the session. The Reason is then the plugin's.
	Planned bool
}

func (l *Lost) Error() string { return l.Reason }

// Away is the error of a call whose context has ended while there was no connection. It wraps that
// of the context.
type Away struct {
	Since time.Time
	Err   error
}

func (a *Away) Error() string {
	return fmt.Sprintf("%v: the connection to the plugin has been lost since %s (%v ago)",
		a.Err, a.Since.Format(time.TimeOnly), time.Since(a.Since).Round(time.Second))
}

func (a *Away) Unwrap() error { return a.Err }

// Limit is how long the plugin may take for a call.
type Limit struct {
	Answer time.Duration
	Cancel time.Duration // from the end of the context on
}

// Host is the host's half of one session. It is safe for concurrent use.
type Host struct {
	config   Config
	name     string
	life     context.Context // ends with the session
	shut     context.CancelFunc
	kept     chan struct{} // closed when keep has ended
	draining chan struct{} // closed when the plugin drains
	drain    func()        // closes it

	mu      sync.Mutex // guards the fields below
	line    *line      // nil: there is no connection
	since   time.Time  // when line became nil
	linger  time.Duration
	attempt uint64
	lost    *Lost // not nil: the session has ended

	// changed is closed, and replaced, with each change of line and lost.
	changed chan struct{}

	// last is the number of the latest call or stream.
	last uint64

	open map[uint64]bool

	// done are calls and streams that have ended. The plugin was not told of them yet.
	done []uint64

	telling bool // a timer will call tellDone

	// cancels are messages about cancelled calls. The plugin may not have received them.
	cancels map[uint64]Cancel
}

func newHost(config Config) *Host {
	h := &Host{
		config:   config,
		name:     rand.Text(),
		kept:     make(chan struct{}),
		draining: make(chan struct{}),
		changed:  make(chan struct{}),
		open:     make(map[uint64]bool),
		cancels:  make(map[uint64]Cancel),
	}
	h.drain = sync.OnceFunc(func() { close(h.draining) })
	h.life, h.shut = context.WithCancel(context.Background())
	return h
}

// Open dials and begins a session. It also returns what the plugin says of it. If the plugin
// refuses, the error is a *Refused.
func Open(ctx context.Context, config Config) (*Host, []byte, error) {
	h := newHost(config)
	at, err := h.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	return h.start(ctx, at)
}

// Over begins a session on a connection that go-plugin has made.
func Over(broker *plugin.MuxBroker, conn *rpc.Client, config Config) (*Host, []byte, error) {
	at := newLine(broker, conn)
	at.hangUp = func() { _ = conn.Close() }
	return newHost(config).start(context.Background(), at)
}

func (h *Host) start(ctx context.Context, at *line) (*Host, []byte, error) {
	reply, err := h.enter(ctx, at, nil)
	if err != nil {
		at.end()
		return nil, nil, err
	}
	h.linger = min(reply.Linger, h.config.Linger)
	h.line = at
	go h.keep(at)
	return h, reply.Info, nil
}

// Refused is the error of a session that the plugin does not take.
type Refused struct {
	Version int    // of the contract in the plugin
	Info    []byte // what it says
	Ended   bool
}

func (r *Refused) Error() string { return "the plugin refuses the session" }

// enter opens the session on a new connection.
func (h *Host) enter(ctx context.Context, at *line, progress *Progress) (*OpenReply, error) {
	h.attempt++
	args := OpenArgs{
		Version:  h.config.Version,
		Name:     h.name,
		Attempt:  h.attempt,
		Linger:   h.config.Linger,
		Lifeline: at.broker.NextId(),
		Resume:   progress,
	}
	if progress == nil {
		args.Settings = h.config.Settings
	}
	reply := new(OpenReply)
	err := at.during(ctx, func() error { return at.conn.Call("Plugin.Open", args, reply) })
	switch {
	case err != nil:
		return nil, err
	case reply.Refused:
		return nil, &Refused{Version: reply.Version, Info: reply.Info, Ended: reply.Ended}
	}
	go at.follow(args.Lifeline, h.news)
	return reply, nil
}

// keep waits for the loss of the connection, and then dials again for as long as the session
// lingers.
func (h *Host) keep(at *line) {
	defer close(h.kept)
	for {
		select {
		case <-at.ended:
		case <-h.life.Done():
		}
		at.end()
		if h.life.Err() != nil {
			return
		}
		h.note(nil)
		next, err := h.redial()
		if err != nil {
			h.end(&Lost{Reason: "its connection ended"})
			return
		}
		at = next
		h.note(at)
	}
}

func isEnded(err error) bool {
	refused, ok := errors.AsType[*Refused](err)
	return ok && refused.Ended
}

// redial makes the connection again.
func (h *Host) redial() (*line, error) {
	ctx, cancel := context.WithTimeout(h.life, h.linger)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(redialTime):
		}
		at, err := h.again(ctx)
		if err == nil || isEnded(err) {
			return at, err
		}
	}
}

func (h *Host) again(ctx context.Context) (*line, error) {
	attempt, cancel := context.WithTimeout(ctx, redialPatience)
	defer cancel()
	at, err := h.dial(attempt)
	if err != nil {
		return nil, err
	}
	_, err = h.enter(attempt, at, h.progress())
	if err != nil {
		at.end()
		return nil, err
	}
	return at, nil
}

// progress returns what the plugin must know to go on.
func (h *Host) progress() *Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = nil
	p := &Progress{Next: h.last + 1}
	for n := range h.open {
		p.Open = append(p.Open, n)
	}
	for _, cancel := range h.cancels {
		p.Cancels = append(p.Cancels, cancel)
	}
	return p
}

// note sets the present connection; nil: it is lost.
func (h *Host) note(at *line) {
	h.set(at)
	if at != nil {
		h.tellAll(at) // of what was cancelled while the connection was opened
	}
	if h.config.Changed != nil {
		h.config.Changed(at == nil)
	}
}

func (h *Host) set(at *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line = at
	if at == nil {
		h.since = time.Now()
	}
	h.wakeLocked()
}

// tellAll tells the plugin on a new connection of everything that is cancelled or done.
func (h *Host) tellAll(at *line) {
	h.mu.Lock()
	var cancels []Cancel
	for _, cancel := range h.cancels {
		cancels = append(cancels, cancel)
	}
	done := h.done
	h.done = nil
	h.mu.Unlock()
	if len(cancels)+len(done) > 0 {
		go h.tell(at, TellArgs{Cancels: cancels, Done: done})
	}
}

// tell sends news. The host then forgets the given-up calls in it: the plugin refuses them from now on.
func (h *Host) tell(at *line, news TellArgs) {
	err := at.conn.Call("Plugin.Tell", news, new(Nothing))
	if err != nil {
		return // the host tells it when it connects again
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, cancel := range news.Cancels {
		if cancel.GiveUp {
			delete(h.cancels, cancel.Number)
		}
	}
}

func (h *Host) wakeLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// end ends the session. The first reason counts.
func (h *Host) end(why *Lost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		h.lost = why
		h.wakeLocked()
	}
	h.shut()
}

// news takes what the plugin says on the lifeline.
func (h *Host) news(kind byte, text string) {
	switch kind {
	case newsDrain:
		h.drain()
	case newsGoodbye:
		h.end(&Lost{Reason: text, Planned: true})
	}
}

// Draining is closed once the plugin says that it will end.
func (h *Host) Draining() <-chan struct{} { return h.draining }

// Ended is closed when the session has ended.
func (h *Host) Ended() <-chan struct{} { return h.life.Done() }

// IsAway reports whether the connection is lost at present.
func (h *Host) IsAway() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.line == nil
}

// Quit asks the plugin's process to end, over a connection that this Host has dialled.
func (h *Host) Quit() {
	h.mu.Lock()
	at := h.line
	h.mu.Unlock()
	if at != nil && at.protocol != nil {
		_ = at.protocol.Close()
	}
}

// Close ends the session, if it has not ended, and the connection. It tells the plugin, which
// then ends the session too. Close does not wait for that.
func (h *Host) Close() {
	h.leave(&Lost{Reason: "the session is closed"})
	<-h.kept
}

// leave gives the session up, and tells the plugin so.
func (h *Host) leave(why *Lost) {
	h.mu.Lock()
	at := h.line
	h.mu.Unlock()
	if at != nil {
		told := make(chan *rpc.Call, 1)
		go at.conn.Go("Plugin.Tell", TellArgs{End: true}, new(Nothing), told)
		select {
		case <-told:
		case <-at.ended:
		case <-time.After(time.Second): // a plugin that does not answer
		}
	}
	h.end(why)
}

// begin returns the number of a new call or stream.
func (h *Host) begin() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.open[h.last] = true
	return h.last
}

// finish notes that the host has seen the end of a call or a stream.
func (h *Host) finish(n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open[n] {
		return // it was given up
	}
	delete(h.open, n)
	delete(h.cancels, n)
	h.done = append(h.done, n)
	if !h.telling {
		h.telling = true
		time.AfterFunc(tellTime, h.tellDone)
	}
}

// takeDone returns the ended calls and streams that a message on this connection is to name: none
// if the connection is an old one, on which the message could be lost.
func (h *Host) takeDone(at *line) []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at != h.line {
		return nil
	}
	done := h.done
	h.done = nil
	return done
}

// tellDone tells the plugin of the ended calls and streams that no other message has named.
func (h *Host) tellDone() {
	h.mu.Lock()
	h.telling = false
	at := h.line
	done := h.done
	if at == nil || h.lost != nil || len(done) == 0 {
		h.mu.Unlock() // the host tells it when it connects again
		return
	}
	h.done = nil
	h.mu.Unlock()
	h.tell(at, TellArgs{Done: done})
}

// cancel tells the plugin that a call is cancelled. With giveUp nobody waits for it any more.
func (h *Host) cancel(n uint64, cause string, giveUp bool) {
	h.mu.Lock()
	c := Cancel{Number: n, Cause: cause, GiveUp: giveUp}
	h.cancels[n] = c
	if giveUp {
		delete(h.open, n)
	}
	at := h.line
	h.mu.Unlock()
	if at != nil { // otherwise the host tells it when it connects again
		go h.tell(at, TellArgs{Cancels: []Cancel{c}})
	}
}

// state returns the connection, nil if there is none, and a channel that is closed when that
// changes.
func (h *Host) state() (at *line, since time.Time, changed <-chan struct{}, lost *Lost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.line, h.since, h.changed, h.lost
}

// Do makes a call: the plugin answers request with method. live, if not nil, is the stream that
// the call writes to. The error is a *Lost, an *Away, the error of ctx if ctx has ended and the
// plugin does not answer in time, or an rpc.ServerError if the plugin does not know the method.
func Do[Q, A any](ctx context.Context, h *Host, method string, request Q, live *Reader, limit Limit) (A, error) {
	n := h.begin()
	args := Request[Q]{Number: n, Cancelled: ctx.Err() != nil, Value: request}
	if live != nil {
		args.Stream = live.number
	}
	var reply *Reply[A]
	err := h.call(ctx, n, limit, func(at *line, sent *sending) {
		reply = new(Reply[A]) // net/rpc may still write to that of an earlier connection
		args := args
		args.Done = h.takeDone(at)
		go sent.send(at, "Plugin."+method, args, reply)
	})
	h.finish(n)
	switch {
	case err != nil:
		return *new(A), err
	case reply.Refused != "":
		return *new(A), &Lost{Reason: reply.Refused}
	}
	return reply.Value, nil
}

// sending is a message under way on one connection.
type sending struct {
	on       *line
	answered chan *rpc.Call

	// sent is when the connection had taken all of the message; nil: not yet.
	sent atomic.Pointer[time.Time]
}

func newSending(at *line) *sending {
	return &sending{on: at, answered: make(chan *rpc.Call, 1)}
}

// send sends the message. It may take long: a plugin that is stopped takes no large message.
func (s *sending) send(at *line, method string, args, reply any) {
	at.conn.Go(method, args, reply, s.answered)
	now := time.Now()
	s.sent.Store(&now)
}

// result returns the error of an answer. If there is no answer because the connection is lost,
// result ends the connection and returns false.
func (s *sending) result(answer *rpc.Call) (err error, ok bool) {
	_, understood := errors.AsType[rpc.ServerError](answer.Error)
	if answer.Error == nil || understood && isCurrent(s.on) {
		return answer.Error, true
	}
	s.on.end()
	return nil, false
}

// call sends a call, again on each new connection, and waits for the answer.
func (h *Host) call(ctx context.Context, n uint64, limit Limit, send func(*line, *sending)) error {
	under := newSending(nil) // nothing is sent yet
	var patience <-chan time.Time
	over := ctx.Done()
	cancelledLooks := 0
	late := newLookout(h.config, limit.Answer)
	defer late.timer.Stop()
	for {
		at, since, changed, lost := h.state()
		if lost != nil {
			return lost
		}
		if at != nil && at != under.on {
			under = newSending(at)
			late.looks = 0
			send(at, under)
		}
		select {
		case answer := <-under.answered:
			err, ok := under.result(answer)
			if ok {
				return err
			}
		case <-changed:
		case <-over:
			over = nil
			patience = time.After(after(limit.Cancel, cancelLook))
			h.cancel(n, h.config.Cause(context.Cause(ctx)), false)
		case <-patience:
			cancelledLooks++
			if cancelledLooks == cancelLooks {
				return h.giveUp(ctx, n, at == nil, since)
			}
			patience = time.After(cancelLook)
		case <-late.timer.C:
			switch isStopped, isSilent := late.look(at, under); {
			case isStopped && ctx.Err() != nil: // the plugin may go on, for other calls
				return h.giveUp(ctx, n, false, since)
			case isStopped, isSilent:
				gone := &Lost{Reason: "it does not answer: it is stopped, or the machine is overloaded"}
				h.leave(gone)
				return gone
			}
		}
	}
}

// after adds durations without overflow.
func after(d, more time.Duration) time.Duration {
	return min(max(d, 0), 1<<62) + more
}

// lookout checks whether the plugin still works on a call that is late.
type lookout struct {
	stopped func() bool   // as in Config
	answer  time.Duration // that the call may take
	timer   *time.Timer   // fires when the next look is due
	looks   int           // in a row that saw nothing move
	moved   int64         // bytes moved, at the last look
}

func newLookout(config Config, answer time.Duration) *lookout {
	l := &lookout{stopped: config.Stopped, answer: answer}
	l.timer = time.NewTimer(after(answer, lookTime))
	if config.Patient {
		l.timer.Stop()
	}
	return l
}

// look takes one look, and sets the timer for the next. It returns whether the plugin's process is
// stopped, and whether the plugin has been silent for maxLooks.
func (l *lookout) look(at *line, under *sending) (isStopped, isSilent bool) {
	l.timer.Reset(lookTime)
	sent := under.sent.Load()
	if at == nil || sent == nil {
		return false, false // the plugin cannot answer yet
	}
	early := after(l.answer, lookTime) - time.Since(*sent)
	if early > 0 {
		l.timer.Reset(early)
		return false, false
	}
	before := l.moved
	l.moved = at.moved()
	if l.moved != before {
		l.looks = 0 // the answer may be on its way over a slow connection
		return false, false
	}
	l.looks++
	return l.stopped != nil && l.stopped(), l.looks == maxLooks
}

// giveUp returns the error of a call that its caller no longer waits for. The plugin is told, so
// that the call does not begin later.
func (h *Host) giveUp(ctx context.Context, n uint64, away bool, since time.Time) error {
	h.cancel(n, h.config.Cause(context.Cause(ctx)), true)
	if away {
		return &Away{Since: since, Err: ctx.Err()}
	}
	return ctx.Err()
}

// Reader is the host's end of a stream of live bytes.
type Reader struct {
	host    *Host
	number  uint64
	stopped chan struct{}
	stop    func()

	isStopped atomic.Bool // by Close, for tests
}

// Stream makes a stream, for one call.
func (h *Host) Stream() *Reader {
	r := &Reader{host: h, number: h.begin(), stopped: make(chan struct{})}
	r.stop = sync.OnceFunc(func() {
		close(r.stopped)
		h.finish(r.number)
	})
	return r
}

// Close ends the stream: the plugin's writer fails, and Copy returns.
func (r *Reader) Close() {
	r.isStopped.Store(true)
	r.stop()
}

const (
	minChunk = 16 << 10 // takes a second at 128 kbit/s: so long may a call's reply have to wait
	maxChunk = liveBudget
	fastLink = 50 * time.Millisecond  // a chunk that comes sooner may be larger
	slowLink = 500 * time.Millisecond // one that comes later must be smaller
)

// Copy passes the bytes on to w until the stream ends, w fails, or the session ends. It must be
// called once.
func (r *Reader) Copy(w io.Writer) error {
	defer r.stop()
	from := int64(0)
	most := minChunk
	for {
		begin := time.Now()
		reply, err := r.next(from, most)
		if err != nil || reply.End {
			return err
		}
		if len(reply.Bytes) == most {
			switch took := time.Since(begin); {
			case took < fastLink:
				most = min(2*most, maxChunk)
			case took > slowLink:
				most = max(most/2, minChunk)
			}
		}
		from += int64(len(reply.Bytes))
		_, err = w.Write(reply.Bytes)
		if err != nil {
			return err
		}
	}
}

// next asks for the next bytes, on each connection until they come.
func (r *Reader) next(from int64, most int) (*LiveReply, error) {
	under := newSending(nil) // nothing is sent yet
	var reply *LiveReply
	for {
		at, _, changed, lost := r.host.state()
		if lost != nil {
			return nil, lost
		}
		if at != nil && at != under.on {
			under = newSending(at)
			reply = new(LiveReply)
			go under.send(at, "Plugin.Live", LiveArgs{Number: r.number, From: from, Most: most}, reply)
		}
		select {
		case answer := <-under.answered:
			err, ok := under.result(answer)
			if ok {
				return reply, err
			}
		case <-changed:
		case <-r.stopped:
			return &LiveReply{End: true}, nil
		}
	}
}

func isCurrent(at *line) bool {
	select {
	case <-at.ended:
		return false
	default:
		return true
	}
}

// pending returns the numbers that are not done, for tests.
func (h *Host) pending() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []uint64
	for n := range h.open {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
