package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

func fail(code shared.Code, format string, args ...any) error {
	return &shared.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error { return fail(shared.CodeInvalid, format, args...) }

func errClosed() error { return fail(shared.CodeClosed, "the session is closed: no more calls") }

// validate checks a request, fills in its defaults and returns the absolute
// directory that it runs in.
func (e *Executor) validate(req *shared.ExecuteRequest) (string, error) {
	if err := validateCommand(req.Command); err != nil {
		return "", err
	}
	switch req.Mode {
	case "":
		req.Mode = shared.ModeDetach
	case shared.ModeDetach, shared.ModeTerminate, shared.ModeBackground, shared.ModeAuto:
	default:
		return "", invalid("unknown Mode %q: use %q, %q, %q or %q", req.Mode, shared.ModeDetach, shared.ModeTerminate, shared.ModeBackground, shared.ModeAuto)
	}
	if req.Timeout < 0 {
		return "", invalid("Timeout is %v: use 0 for the default, or a positive duration", req.Timeout)
	}
	if req.Timeout == 0 && req.Mode != shared.ModeBackground {
		req.Timeout = shared.DefaultTimeout
	}
	if err := validateEnv(req.Env); err != nil {
		return "", err
	}
	if err := validateLimits(&req.Limits); err != nil {
		return "", err
	}
	return e.resolve(req.Dir)
}

func validateCommand(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return invalid("Command is empty: give the text of a bash command")
	case len(command) > shared.MaxCommandBytes:
		return invalid("Command has %d bytes: at most %d are allowed; write a long script to a file and run that", len(command), shared.MaxCommandBytes)
	case strings.IndexByte(command, 0) >= 0:
		return invalid("Command has a NUL byte at %d: bash cannot take one; use printf '\\0' to make one", strings.IndexByte(command, 0))
	}
	return nil
}

func validateEnv(env []string) error {
	for i, entry := range env {
		if strings.IndexByte(entry, '=') <= 0 {
			return invalid("Env[%d] is %q: use KEY=VALUE", i, entry)
		}
		if strings.IndexByte(entry, 0) >= 0 {
			return invalid("Env[%d] has a NUL byte: an environment cannot hold one", i)
		}
	}
	return nil
}

func validateLimits(l *shared.Limits) error {
	switch {
	case l.MaxBytes < 0 || l.MaxBytes > shared.MaxMaxBytes:
		return invalid("Limits.MaxBytes is %d: use 1 to %d, or 0 for %d", l.MaxBytes, shared.MaxMaxBytes, shared.DefaultMaxBytes)
	case l.Ends < 0 || l.Ends > shared.MaxMaxBytes:
		return invalid("Limits.Ends is %d: use 0 to keep the tail, or up to %d bytes of each end", l.Ends, shared.MaxMaxBytes)
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = shared.DefaultMaxBytes
	}
	if l.MaxLines == 0 {
		l.MaxLines = shared.DefaultMaxLines
	}
	return nil
}

// validateCheck returns the compiled WaitFor, nil where there is none.
func validateCheck(req *shared.CheckRequest) (*regexp.Regexp, error) {
	if err := validatePID(req.PID); err != nil {
		return nil, err
	}
	if req.Wait < 0 {
		return nil, invalid("Wait is %v: use 0 to report at once, or a positive duration", req.Wait)
	}
	if err := validateLimits(&req.Limits); err != nil {
		return nil, err
	}
	if req.PID == shared.AllJobs && (req.Wait > 0 || req.WaitFor != "") {
		return nil, invalid("Wait and WaitFor need the PID of one job: with AllJobs leave them out")
	}
	if req.WaitFor == "" {
		return nil, nil
	}
	if n := len(req.WaitFor); n > maxPattern {
		return nil, invalid("WaitFor has %d bytes, and may have %d", n, maxPattern)
	}
	n, err := states(req.WaitFor)
	if err != nil {
		return nil, invalid("WaitFor is not a regular expression (syntax of Go's regexp): %v", err)
	}
	if n > maxStates {
		return nil, invalid("WaitFor has %d states with its repetitions written out, and may have %d: use * or + where it counts to hundreds", n, maxStates)
	}
	return regexp.Compile(req.WaitFor)
}

const (
	maxPattern = 64 << 10 // bytes: bounds the time that states takes
	maxStates  = 1000     // bounds the time that a look through output takes
)

// states returns the size of the program that a pattern becomes.
func states(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

func validateKill(req *shared.KillRequest) error {
	if err := validatePID(req.PID); err != nil {
		return err
	}
	if req.Signal < 0 || req.Signal != 0 && process.SignalName(req.Signal) == "" {
		return invalid("Signal %d does not exist: use 0 for SIGTERM, or a signal of this system", int(req.Signal))
	}
	if req.Grace < 0 {
		return invalid("Grace is %v: use 0 for %v, or a positive duration", req.Grace, shared.DefaultGrace)
	}
	if req.Signal == 0 {
		req.Signal = syscall.SIGTERM
	}
	if req.Grace == 0 {
		req.Grace = shared.DefaultGrace
	}
	return validateLimits(&req.Limits)
}

// validatePID leaves a pid that is merely unknown to the registry.
func validatePID(pid int) error {
	if pid == 0 || pid < shared.AllJobs {
		return invalid("PID is %d: use the PID of a Result, or AllJobs (%d)", pid, shared.AllJobs)
	}
	return nil
}

// sessionDir returns the absolute directory of the session.
func sessionDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot find the working directory: %w", err)
	}
	if err := checkDir(dir); err != nil {
		return "", fmt.Errorf("cannot run commands in %q: %w", dir, err)
	}
	return dir, nil
}

// resolve returns the absolute directory of a request.
func (e *Executor) resolve(dir string) (string, error) {
	path := dir
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, dir)
	}
	err := checkDir(path)
	switch {
	case err == nil, e.placeOf(path) != path:
		return path, nil
	case dir == "":
		return "", fail(shared.CodeStart, "cannot run in the session's directory %q: %v", path, err)
	}
	return "", invalid("cannot run in Dir %q: %v", path, err)
}

// placeOf returns the path by which a command gets into a directory. The
// session's may have been removed, as by the model that works in it: then its
// commands still begin there, like those of a shell, and can go elsewhere or make
// it again.
func (e *Executor) placeOf(dir string) string {
	if dir != e.dir || e.place == nil {
		return dir
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir
	}
	path := fmt.Sprintf("/proc/self/fd/%d", e.place.Fd())
	if _, err := os.Stat(path); err != nil {
		return dir // not a system that has it
	}
	return path
}

// checkDir says why a command cannot run in a directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist")
	case err != nil:
		return errors.Unwrap(err)
	case !info.IsDir():
		return errors.New("it is not a directory")
	}
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return fmt.Errorf("it may not be entered: %w", err)
	}
	return nil
}
