package shared

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"time"

	"bashplugin/shared/internal/half"
)

// The arguments and replies of the calls. They are unnamed types, because net/rpc
// refuses named types that are not exported. net/rpc drops the reply of a handler
// that returns an error; so the reply holds the error.

type openArgs = half.OpenArgs[SessionConfig]

type openReply = struct {
	Logs   string
	Linger time.Duration
	Err    *Error
}

// number is a call's. The host waits for no call before Oldest any more.
type number = struct{ Call, Oldest uint64 }

// executeArgs carries an ExecuteRequest without its writers. Live, if not 0, is
// the stream on which the host takes frames for the writers.
type executeArgs = struct {
	Number         number
	Request        ExecuteRequest
	Live           uint32
	Stdout, Stderr bool // whether the request has that writer
	Over           bool // whether the context was over before the call
}

type checkArgs = struct {
	Number  number
	Request CheckRequest
}

type killArgs = struct {
	Number  number
	Request KillRequest
}

// cancelArgs end a call. With LetRun its command goes on as a job, and with Detach its
// output counts as shown, too.
type cancelArgs = struct {
	Call           uint64
	LetRun, Detach bool
}

// reply carries a Result or an Error.
type reply = struct {
	Result *Result
	Err    *Error
}

type nothing = struct{}

// wireError returns an implementation's error as an Error for a reply.
func wireError(err error) *Error {
	var e *Error
	if err == nil {
		return nil
	}
	if errors.As(err, &e) {
		return &Error{Code: e.Code, Message: err.Error(), Field: e.Field}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// callError explains the error of a call that net/rpc could not complete.
func callError(err error) error {
	var remote rpc.ServerError
	if errors.As(err, &remote) {
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin does not understand the call: %v", err)}
	}
	return crashed(err)
}

func crashed(err error) error {
	reason := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, rpc.ErrShutdown) {
		reason = "its connection ended"
	}
	return &Error{Code: CodeCrashed, Message: "the plugin is gone: " + reason}
}
