package shared

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"

	"github.com/hashicorp/go-plugin"
)

// What travels. Arguments and replies are unnamed types, which net/rpc takes
// although nothing of them is exported. net/rpc drops the reply of a handler
// that returns an error; an error therefore travels inside the reply.

// openArgs begins a connection. The plugin dials the lifeline and reads until the
// host is gone, unless it replies that it is told of the connection's end.
type openArgs = struct{ Lifeline uint32 }

type openReply = struct{ Told bool }

// executeArgs carries an ExecuteRequest without its writers. Live, where not
// 0, is a stream of frames for them, which the host dials.
type executeArgs = struct {
	Call           uint64
	Request        ExecuteRequest
	Live           uint32
	Stdout, Stderr bool // whether the request has that writer
	Partial        bool // whether neither is a WholeOutput; hosts that do not know of these get all
	Over           bool // whether the context was over before the call
}

type checkArgs = struct {
	Call    uint64
	Request CheckRequest
}

type killArgs = struct {
	Call    uint64
	Request KillRequest
}

// reply carries a Result or an Error. A large Result goes over the stream Bulk
// instead, so that it does not delay the replies behind it.
type reply = struct {
	Result *Result
	Bulk   uint32
	Err    *Error
}

type nothing = struct{}

// bulkSize is the output from which on a Result travels on a stream of its own.
const bulkSize = 128 << 10

func isBulky(r *Result) bool { return r != nil && textSize(r) > bulkSize }

func textSize(r *Result) int {
	n := len(r.Stdout.Content) + len(r.Stdout.Head) + len(r.Stderr.Content) + len(r.Stderr.Head) + len(r.Command)
	for i := range r.Jobs {
		n += textSize(&r.Jobs[i])
	}
	return n
}

// sendBulk waits for the host to fetch r, unless it is gone: that may take as
// long as the host is stopped.
func sendBulk(broker *plugin.MuxBroker, id uint32, r *Result, isGone func() bool) {
	conn, err := acceptStream(broker, id, isGone)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = gob.NewEncoder(conn).Encode(r)
	_, _ = io.Copy(io.Discard, conn) // until the host has read it
}

// acceptStream waits for a stream for as long as the other side may take: longer
// than the broker, where that is stopped for a while.
func acceptStream(broker *plugin.MuxBroker, id uint32, isGone func() bool) (net.Conn, error) {
	for {
		conn, err := broker.Accept(id)
		if err == nil || isGone() {
			return conn, err
		}
	}
}

// dialStream connects to who is in acceptStream, and may have been between two
// looks.
func dialStream(broker *plugin.MuxBroker, id uint32) (net.Conn, error) {
	conn, err := broker.Dial(id)
	if err != nil {
		conn, err = broker.Dial(id)
	}
	if err != nil {
		return nil, err
	}
	return stream{conn}, nil
}

// stream is one of the multiplexer's. That may say besides what was read that it
// could not tell in time that there is room again, where this process was
// stopped as it did so. What else goes wrong does so again.
type stream struct{ net.Conn }

// Read implements io.Reader.
func (s stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 {
		err = nil
	}
	return n, err
}

// fetchBulk gets a Result that is sent by sendBulk.
func fetchBulk(broker *plugin.MuxBroker, id uint32) (*Result, error) {
	conn, err := dialStream(broker, id)
	if err != nil {
		return nil, crashed(err)
	}
	defer conn.Close()
	var r Result
	if err := gob.NewDecoder(conn).Decode(&r); err != nil {
		return nil, crashed(err)
	}
	return &r, nil
}

// wireError makes an implementation's error fit to travel.
func wireError(err error) *Error {
	var e *Error
	if err == nil {
		return nil
	}
	if errors.As(err, &e) {
		return &Error{e.Code, err.Error()}
	}
	return &Error{CodeInternal, err.Error()}
}

// callError tells what became of a call that net/rpc could not complete.
func callError(err error) error {
	var remote rpc.ServerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &remote):
		return &Error{CodeInternal, fmt.Sprintf("the plugin does not understand the call: %v", err)}
	}
	return crashed(err)
}

func crashed(err error) error {
	reason := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, rpc.ErrShutdown) {
		reason = "its connection ended"
	}
	return &Error{CodeCrashed, "the plugin is gone: " + reason}
}
