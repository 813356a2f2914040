package shared

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Normalize fills in the defaults of a request, or returns an ErrInvalid that names the Field
// which is wrong. A Bash calls it first. Dir, Confine and Resources are checked by the Bash,
// because they depend on its machine and its session.
func (r *ExecuteRequest) Normalize() error {
	err := cmp.Or(checkCommand(r.Command), r.Limits.normalize(), r.checkStdin())
	index, problem := badEntry(r.Env)
	switch {
	case err != nil:
		return err
	case problem != "":
		return wrong(fmt.Sprintf("Env[%d]", index), "%s", problem)
	case r.Mode != "" && !slices.Contains(Modes(), r.Mode):
		return wrong("Mode", "is %q: use one of %v", r.Mode, Modes())
	case r.Timeout < 0:
		return wrong("Timeout", "is %v: use 0 for the default, or a positive duration", r.Timeout)
	}
	r.Mode = cmp.Or(r.Mode, ModeDetach)
	r.Timeout = cmp.Or(r.Timeout, r.Mode.DefaultTimeout())
	r.Columns = cmp.Or(r.Columns, DefaultColumns)
	r.Rows = cmp.Or(r.Rows, DefaultRows)
	r.Merge = r.Merge || r.Stdin == StdinTTY
	return nil
}

func checkCommand(command string) error {
	nul := strings.IndexByte(command, 0)
	switch {
	case strings.TrimSpace(command) == "":
		return wrong("Command", "is empty: give the text of a bash command")
	case len(command) > MaxCommandBytes:
		return wrong("Command", "has %d bytes: at most %d are allowed; write a long script to a file and run that",
			len(command), MaxCommandBytes)
	case nul >= 0:
		return wrong("Command", "has a NUL byte at %d: bash cannot take one; use printf '\\0' to make one", nul)
	}
	return nil
}

func (r *ExecuteRequest) checkStdin() error {
	kinds := []Stdin{StdinNone, StdinPipe, StdinTTY}
	switch {
	case !slices.Contains(kinds, r.Stdin):
		return wrong("Stdin", "is %q: use one of %q", r.Stdin, kinds)
	case r.Stdin == StdinNone && r.Input != "":
		return wrong("Input", "needs a stdin: set Stdin to one of %q", kinds[1:])
	case len(r.Input) > MaxInputBytes:
		return wrong("Input", "has %d bytes: at most %d are allowed; send the rest by Check",
			len(r.Input), MaxInputBytes)
	case r.Columns < 0 || r.Columns > MaxColumns || r.Rows < 0 || r.Rows > MaxRows:
		return wrong("Columns", "and Rows are %d and %d: use at most %d and %d, or 0 for %d and %d",
			r.Columns, r.Rows, MaxColumns, MaxRows, DefaultColumns, DefaultRows)
	}
	return nil
}

// Normalize does what ExecuteRequest.Normalize does.
func (r *CheckRequest) Normalize() error {
	if err := cmp.Or(checkPID(r.PID), r.Limits.normalize()); err != nil {
		return err
	}
	ofOneJob := r.Wait > 0 || r.WaitFor != "" || r.Input != "" || r.CloseInput
	switch {
	case r.Wait < 0:
		return wrong("Wait", "is %v: use 0 to report at once, or a positive duration", r.Wait)
	case r.PID == AllJobs && ofOneJob:
		return wrong("Wait", "and WaitFor, Input and CloseInput need the PID of one job: with AllJobs leave them out")
	case len(r.WaitFor) > MaxPatternBytes:
		return wrong("WaitFor", "has %d bytes: at most %d are allowed", len(r.WaitFor), MaxPatternBytes)
	}
	_, err := regexp.Compile(r.WaitFor)
	if err != nil {
		return wrong("WaitFor", "is not a regular expression (syntax of Go's regexp): %v", err)
	}
	return nil
}

// Normalize does what ExecuteRequest.Normalize does. The Bash checks Signal, because each machine
// has signals of its own.
func (r *KillRequest) Normalize() error {
	if err := cmp.Or(checkPID(r.PID), r.Limits.normalize()); err != nil {
		return err
	}
	if r.Grace < 0 {
		return wrong("Grace", "is %v: use 0 for %v, or a positive duration", r.Grace, DefaultGrace)
	}
	r.Signal = cmp.Or(r.Signal, syscall.SIGTERM)
	r.Grace = cmp.Or(r.Grace, DefaultGrace)
	return nil
}

// checkPID refuses a pid that no job can have.
func checkPID(pid int) error {
	if pid == 0 || pid < AllJobs {
		return wrong("PID", "is %d: use the PID of a Result, or AllJobs (%d)", pid, AllJobs)
	}
	return nil
}

func (l *Limits) normalize() error {
	switch {
	case l.MaxBytes < 0 || l.MaxBytes > MaxMaxBytes:
		return wrong("Limits.MaxBytes", "is %d: use 1 to %d, or 0 for %d", l.MaxBytes, MaxMaxBytes, DefaultMaxBytes)
	case l.Ends < 0 || l.Ends > MaxMaxBytes:
		return wrong("Limits.Ends", "is %d: use 0 to keep the tail, or up to %d bytes of each end", l.Ends, MaxMaxBytes)
	case l.Notable < 0 || l.Notable > MaxNotable:
		return wrong("Limits.Notable", "is %d: use 0 to %d", l.Notable, MaxNotable)
	}
	l.MaxBytes = cmp.Or(l.MaxBytes, DefaultMaxBytes)
	l.MaxLines = cmp.Or(l.MaxLines, DefaultMaxLines)
	return nil
}

// badEntry returns the first entry of an environment that cannot be one, and what is wrong with
// it; "": nothing.
func badEntry(env []string) (index int, problem string) {
	for i, entry := range env {
		switch {
		case strings.IndexByte(entry, '=') <= 0:
			return i, fmt.Sprintf("is %q, which is not KEY=VALUE", entry)
		case strings.IndexByte(entry, 0) >= 0:
			return i, "has a NUL byte: an environment cannot hold one"
		}
	}
	return 0, ""
}

// wrong is invalid with a message that begins with the field.
func wrong(field, format string, args ...any) error {
	return invalid(field, "%s", field+" "+fmt.Sprintf(format, args...))
}
