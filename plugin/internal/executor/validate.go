package executor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

func fail(code shared.Code, format string, args ...any) error {
	return &shared.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalid says what is wrong with a field of a request.
func invalid(field, format string, args ...any) error {
	return &shared.Error{Code: shared.CodeInvalid, Field: field, Message: field + " " + fmt.Sprintf(format, args...)}
}

func errClosed() error { return fail(shared.CodeClosed, "the session is closed: no more calls") }

// validate checks a request, fills in its defaults and returns the absolute
// directory that it runs in.
func (e *Executor) validate(req *shared.ExecuteRequest) (string, error) {
	if err := validateCommand(req.Command); err != nil {
		return "", err
	}
	req.Mode = cmp.Or(req.Mode, shared.ModeDetach)
	if !slices.Contains(shared.Modes(), req.Mode) {
		return "", invalid("Mode", "is %q: use one of %v", req.Mode, shared.Modes())
	}
	if req.Timeout < 0 {
		return "", invalid("Timeout", "is %v: use 0 for the default, or a positive duration", req.Timeout)
	}
	req.Timeout = cmp.Or(req.Timeout, req.Mode.DefaultTimeout())
	if err := validateEnv(req.Env); err != nil {
		return "", err
	}
	if err := validateLimits(&req.Limits); err != nil {
		return "", err
	}
	if err := validateStdin(req); err != nil {
		return "", err
	}
	var err error
	if req.Resources, err = req.Resources.Within(e.launcher.resources); err != nil {
		return "", err
	}
	return e.launcher.dir.resolve(req.Dir)
}

func validateCommand(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return invalid("Command", "is empty: give the text of a bash command")
	case len(command) > shared.MaxCommandBytes:
		return invalid("Command", "has %d bytes: at most %d are allowed; write a long script to a file and run that", len(command), shared.MaxCommandBytes)
	case strings.IndexByte(command, 0) >= 0:
		return invalid("Command", "has a NUL byte at %d: bash cannot take one; use printf '\\0' to make one", strings.IndexByte(command, 0))
	}
	return nil
}

func validateEnv(env []string) error {
	for i, entry := range env {
		if strings.IndexByte(entry, '=') <= 0 {
			return invalid(fmt.Sprintf("Env[%d]", i), "is %q: use KEY=VALUE", entry)
		}
		if strings.IndexByte(entry, 0) >= 0 {
			return invalid(fmt.Sprintf("Env[%d]", i), "has a NUL byte: an environment cannot hold one")
		}
	}
	return nil
}

func validateStdin(req *shared.ExecuteRequest) error {
	switch kinds := []shared.Stdin{shared.StdinNone, shared.StdinPipe, shared.StdinTTY}; {
	case !slices.Contains(kinds, req.Stdin):
		return invalid("Stdin", "is %q: use one of %q", req.Stdin, kinds)
	case req.Stdin == shared.StdinNone && req.Input != "":
		return invalid("Input", "needs a stdin: set Stdin to one of %q", kinds[1:])
	case len(req.Input) > shared.MaxInputBytes:
		return invalid("Input", "has %d bytes: at most %d are allowed; send the rest by Check", len(req.Input), shared.MaxInputBytes)
	case min(req.Columns, req.Rows) < 0 || req.Columns > shared.MaxColumns || req.Rows > shared.MaxRows:
		return invalid("Columns", "and Rows are %d and %d: use at most %d and %d, or 0 for %d and %d", req.Columns, req.Rows, shared.MaxColumns, shared.MaxRows, shared.DefaultColumns, shared.DefaultRows)
	}
	req.Columns, req.Rows = cmp.Or(req.Columns, shared.DefaultColumns), cmp.Or(req.Rows, shared.DefaultRows)
	req.Merge = req.Merge || req.Stdin == shared.StdinTTY
	return nil
}

func validateLimits(l *shared.Limits) error {
	switch {
	case l.MaxBytes < 0 || l.MaxBytes > shared.MaxMaxBytes:
		return invalid("Limits.MaxBytes", "is %d: use 1 to %d, or 0 for %d", l.MaxBytes, shared.MaxMaxBytes, shared.DefaultMaxBytes)
	case l.Ends < 0 || l.Ends > shared.MaxMaxBytes:
		return invalid("Limits.Ends", "is %d: use 0 to keep the tail, or up to %d bytes of each end", l.Ends, shared.MaxMaxBytes)
	}
	if l.Notable < 0 || l.Notable > shared.MaxNotable {
		return invalid("Limits.Notable", "is %d: use 0 to %d", l.Notable, shared.MaxNotable)
	}
	l.MaxBytes = cmp.Or(l.MaxBytes, shared.DefaultMaxBytes)
	l.MaxLines = cmp.Or(l.MaxLines, shared.DefaultMaxLines)
	return nil
}

// validateCheck returns the compiled WaitFor, nil if there is none.
func validateCheck(req *shared.CheckRequest) (*regexp.Regexp, error) {
	if err := validatePID(req.PID); err != nil {
		return nil, err
	}
	if req.Wait < 0 {
		return nil, invalid("Wait", "is %v: use 0 to report at once, or a positive duration", req.Wait)
	}
	if err := validateLimits(&req.Limits); err != nil {
		return nil, err
	}
	if req.PID == shared.AllJobs && (req.Wait > 0 || req.WaitFor != "" || req.Input != "" || req.CloseInput) {
		return nil, invalid("Wait", "WaitFor, Input and CloseInput need the PID of one job: with AllJobs leave them out")
	}
	if req.WaitFor == "" {
		return nil, nil
	}
	if n := len(req.WaitFor); n > shared.MaxPatternBytes {
		return nil, invalid("WaitFor", "has %d bytes: at most %d are allowed", n, shared.MaxPatternBytes)
	}
	if _, err := regexp.Compile(req.WaitFor); err != nil {
		return nil, invalid("WaitFor", "is not a regular expression (syntax of Go's regexp): %v", err)
	}
	return regexp.MustCompile("(?m)" + req.WaitFor), nil
}

func validateKill(req *shared.KillRequest) error {
	if err := validatePID(req.PID); err != nil {
		return err
	}
	if req.Signal < 0 || req.Signal != 0 && process.SignalName(req.Signal) == "" {
		return invalid("Signal", "%d does not exist: use 0 for SIGTERM, or a signal of this system", int(req.Signal))
	}
	if req.Grace < 0 {
		return invalid("Grace", "is %v: use 0 for %v, or a positive duration", req.Grace, shared.DefaultGrace)
	}
	req.Signal = cmp.Or(req.Signal, syscall.SIGTERM)
	req.Grace = cmp.Or(req.Grace, shared.DefaultGrace)
	return validateLimits(&req.Limits)
}

// validatePID refuses a pid that no job can have. The registry refuses unknown ones.
func validatePID(pid int) error {
	if pid == 0 || pid < shared.AllJobs {
		return invalid("PID", "is %d: use the PID of a Result, or AllJobs (%d)", pid, shared.AllJobs)
	}
	return nil
}
