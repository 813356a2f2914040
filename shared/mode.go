package shared

import "time"

// Mode says how long Execute waits and what happens at the timeout. Any other
// value is invalid.
type Mode string

// The modes. The zero value means ModeDetach.
const (
	// ModeDetach waits; at Timeout the command goes on as a background job
	// without a timeout.
	ModeDetach Mode = "detach"
	// ModeTerminate waits; at Timeout the command is killed: by SIGTERM, and
	// half a second later by SIGKILL.
	ModeTerminate Mode = "terminate"
	// ModeBackground does not wait; at Timeout, if any, the command is killed as
	// in ModeTerminate. While the command runs, its output is for Check to show.
	ModeBackground Mode = "background"
	// ModeAuto is ModeTerminate, but a development command (npm, go, make,
	// docker, pytest, …) that has run for 2 s and has written output becomes a
	// background job without a timeout.
	ModeAuto Mode = "auto"
)

// Modes returns every mode.
func Modes() []Mode { return []Mode{ModeDetach, ModeTerminate, ModeBackground, ModeAuto} }

// DefaultTimeout returns the timeout that an ExecuteRequest.Timeout of 0 stands for
// in this mode; 0: there is none.
func (m Mode) DefaultTimeout() time.Duration {
	if m == ModeBackground {
		return 0
	}
	return DefaultTimeout
}

// Waits reports whether Execute waits for the command in this mode.
func (m Mode) Waits() bool { return m != ModeBackground }
