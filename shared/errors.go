package shared

import (
	"errors"
	"fmt"
)

// Code is the kind of an Error, stable across versions and processes.
type Code string

// The codes of errors.
const (
	CodeInvalid  Code = "INVALID_REQUEST"
	CodeNotFound Code = "BASH_NOT_FOUND"
	CodeStart    Code = "START_FAILED"
	CodeClosed   Code = "CLOSED"
	CodeDenied   Code = "DENIED"
	CodeCrashed  Code = "PLUGIN_CRASHED"
	CodeInternal Code = "INTERNAL"
)

// Error says why a call has no outcome. errors.Is reports whether it has the
// code of one of the Err sentinels, whatever its message.
type Error struct {
	Code    Code
	Message string

	// Field is the field of the request or configuration that is wrong; "": none, or several.
	Field string

	cause error
}

// Error returns the message, which says what to do next where it can.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause of the error, nil if it is unknown. The cause does not
// cross the process boundary.
func (e *Error) Unwrap() error { return e.cause }

// WithCause returns a copy of e that has a cause.
func (e *Error) WithCause(cause error) *Error {
	caused := *e
	caused.cause = cause
	return &caused
}

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// invalid says which field of a request or configuration is wrong, and why.
func invalid(field, format string, args ...any) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}

// ErrLetRun is the cause of a context whose end makes Execute return and leaves
// the command running, as a job.
var ErrLetRun = errors.New("the caller waits no longer: the command goes on")

// ErrDetach is ErrLetRun from a caller that waits no longer but delivers the Result: the
// output in the Result counts as shown. A Bash that knows only ErrLetRun treats it as that.
var ErrDetach = fmt.Errorf("%w, and its output so far is delivered", ErrLetRun)

// Sentinels for errors.Is, one for each code.
var (
	ErrInvalid  error = &Error{Code: CodeInvalid, Message: "invalid request"}
	ErrNotFound error = &Error{Code: CodeNotFound, Message: "no such job"}
	ErrStart    error = &Error{Code: CodeStart, Message: "cannot start the command"}
	ErrClosed   error = &Error{Code: CodeClosed, Message: "the session is closed"}
	ErrDenied   error = &Error{Code: CodeDenied, Message: "the command is not allowed"}
	ErrCrashed  error = &Error{Code: CodeCrashed, Message: "the plugin crashed"}
	ErrInternal error = &Error{Code: CodeInternal, Message: "internal error"}
)
