package shared

// Code is the kind of an Error, stable across versions and processes.
type Code string

// The codes of errors.
const (
	CodeInvalid  Code = "INVALID_REQUEST"
	CodeNotFound Code = "BASH_NOT_FOUND"
	CodeStart    Code = "START_FAILED"
	CodeClosed   Code = "CLOSED"
	CodeCrashed  Code = "PLUGIN_CRASHED"
	CodeInternal Code = "INTERNAL"
)

// Error says why a call has no outcome. errors.Is reports whether it has the
// code of one of the Err sentinels, whatever its message.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message, which says what to do next where it can.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Sentinels for errors.Is, one for each code.
var (
	ErrInvalid  error = &Error{CodeInvalid, "invalid request"}
	ErrNotFound error = &Error{CodeNotFound, "no such job"}
	ErrStart    error = &Error{CodeStart, "cannot start the command"}
	ErrClosed   error = &Error{CodeClosed, "the session is closed"}
	ErrCrashed  error = &Error{CodeCrashed, "the plugin crashed"}
	ErrInternal error = &Error{CodeInternal, "internal error"}
)
