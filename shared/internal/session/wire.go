package session

import "time"

// OpenArgs begin a session, or go on with one.
type OpenArgs struct {
	Version  int    // of the contract
	Name     string // a secret of the host
	Attempt  uint64 // counts the session's connections
	Linger   time.Duration
	Settings []byte
	Lifeline uint32    // where the plugin dials the lifeline
	Resume   *Progress // nil: the session is new
}

// OpenReply answers OpenArgs.
type OpenReply struct {
	Version int

	// Linger is at most what the host has asked for.
	Linger time.Duration

	// Info is about the session. If the plugin refuses, Info says why.
	Info []byte

	Refused bool

	// Ended is set if the plugin refuses because it no longer has the session.
	Ended bool
}

// Progress is what a host says of its calls and streams when it goes on.
type Progress struct {
	Next    uint64   // the number that comes next
	Open    []uint64 // those before it that are not done
	Cancels []Cancel
}

// Cancel ends the context of a call, which may not have arrived yet.
type Cancel struct {
	Number uint64
	Cause  string // for the handler
	GiveUp bool   // the host awaits no reply
}

// TellArgs are news from a host.
type TellArgs struct {
	// Done are the calls and streams whose end the host has seen.
	Done []uint64

	Cancels []Cancel
	End     bool // the host gives the session up
}

// Request carries a call.
type Request[T any] struct {
	Number    uint64
	Done      []uint64 // as in TellArgs
	Stream    uint64   // for live bytes; 0: none
	Cancelled bool     // its context was over before the call
	Value     T
}

// Reply answers a Request.
type Reply[T any] struct {
	Value   T
	Refused string // why there is no Value
}

// LiveArgs ask for bytes of a stream from a position on. The host has received all bytes before
// this position.
type LiveArgs struct {
	Number uint64
	From   int64
	Most   int
}

// LiveReply has at least one byte, unless the stream has ended.
type LiveReply struct {
	Bytes []byte
	End   bool
}

// Nothing is an empty reply.
type Nothing struct{}

// News are frames on the lifeline: a kind, the length of the text (2 bytes, big endian), and
// the text.
const (
	newsDrain   = 'd' // the plugin takes no new sessions
	newsGoodbye = 'g' // the plugin ends this session; the text says why
)
