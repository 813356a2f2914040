package session

import "time"

// OpenArgs begin a session, or go on with one.
type OpenArgs struct {
	Version  int    // of the contract between host and plugin
	Name     string // of the session: a secret of its host
	Attempt  uint64 // counts the connections of this session
	Linger   time.Duration
	Settings []byte
	Lifeline uint32    // where the plugin dials the lifeline
	Resume   *Progress // nil: the session is new
}

// OpenReply answers them.
type OpenReply struct {
	Version int
	Linger  time.Duration // what the host gets of its wish
	Info    []byte        // about the session, or about why there is none
	Refused bool
	Ended   bool // Refused, because there is no such session any more
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
	GiveUp bool   // the host waits for no reply any more
}

// TellArgs are news of a host.
type TellArgs struct {
	Done    []uint64 // calls and streams whose end the host has seen
	Cancels []Cancel
	End     bool // the host gives the session up
}

// Request carries a call.
type Request[T any] struct {
	Number    uint64
	Done      []uint64 // as in TellArgs
	Stream    uint64   // number of the stream for live bytes; 0: none
	Cancelled bool     // its context was over before the call
	Value     T
}

// Reply answers it.
type Reply[T any] struct {
	Value   T
	Refused string // why there is no Value
}

// LiveArgs ask for bytes of a stream from a position on. All before it have arrived.
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
