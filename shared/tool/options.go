package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

// Options change a Toolset. The zero value works.
type Options struct {
	// Dir is where commands run, an absolute path; "": the session's directory.
	// The description of the mode dialect names it to the model.
	Dir string

	Env                 []string          // KEY=VALUE, for every command beside the session's
	Names, Descriptions map[string]string // of tools, instead of the dialect's; the keys are the dialect's names

	// Timeout is the timeout of a command whose call has none, and MaxTimeout the
	// longest that a call may have; 0: the dialect's.
	Timeout, MaxTimeout time.Duration

	Limits shared.Limits // of the output in an answer; the zero value: the dialect's

	// MaxWait is how long a call may take; 0: as long as its command's timeout. A
	// command that runs longer goes on as a job, in every dialect, and the answer
	// says so. A dialect that kills at the timeout still does.
	MaxWait time.Duration
}

// ErrLetRun is shared.ErrLetRun. A host whose client gives up waiting ends the context
// of the call with it, so that the command goes on as a job.
var ErrLetRun = shared.ErrLetRun

// errMaxWait is why a call ends at Options.MaxWait: then its answer is delivered.
var errMaxWait = fmt.Errorf("the longest wait is over: %w", shared.ErrDetach)

// letRun reports whether a call has ended and its command goes on.
func letRun(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrLetRun) }

// goesOn is what an answer says then about a command with a timeout.
func goesOn(timeout time.Duration) string {
	return "This call waits no longer; the command goes on until its timeout of " + seconds(timeout) + "."
}

// withDefaults replaces zero values by those of a dialect, and validates the others.
func (o Options) withDefaults(dialect Dialect) (Options, error) {
	byDefault := map[Dialect]Options{
		Native:   {Timeout: 2 * time.Minute, MaxTimeout: time.Hour, Limits: shared.Limits{MaxLines: -1, MaxBytes: 30000}},
		Claude:   {Timeout: 2 * time.Minute, MaxTimeout: 10 * time.Minute, Limits: shared.Limits{MaxLines: -1, MaxBytes: 30000}},
		Codex:    {Timeout: 10 * time.Second, MaxTimeout: 5 * time.Minute, Limits: shared.Limits{MaxLines: -1, MaxBytes: 40000, Ends: 20000}},
		CheckPID: {Timeout: shared.DefaultTimeout},
		Mode:     {Timeout: 30 * time.Second, Limits: shared.Limits{MaxLines: -1, MaxBytes: 128 << 10, Ends: 4 << 10}},
		TaskID:   {Timeout: 10 * time.Minute, MaxTimeout: 10 * time.Minute},
		BashID:   {Timeout: 30 * time.Second},
	}[dialect]
	o.MaxTimeout = cmp.Or(o.MaxTimeout, byDefault.MaxTimeout, 24*time.Hour)
	o.Timeout = cmp.Or(o.Timeout, min(byDefault.Timeout, o.MaxTimeout))
	if dialect != Codex {
		byDefault.Limits.Notable = 10
	}
	o.Limits = cmp.Or(o.Limits, byDefault.Limits)
	switch {
	case byDefault.Timeout == 0:
		return o, fmt.Errorf("unknown dialect %q: use one of %q", dialect, Dialects())
	case o.Dir != "" && !filepath.IsAbs(o.Dir):
		return o, fmt.Errorf("cannot use the directory %q: give an absolute path", o.Dir)
	case min(o.MaxWait, o.Timeout) < 0 || o.Timeout > o.MaxTimeout:
		return o, fmt.Errorf("cannot use the times: MaxWait (%v) and Timeout (%v, at most MaxTimeout, %v) must not be negative", o.MaxWait, o.Timeout, o.MaxTimeout)
	case min(o.Limits.MaxBytes, o.Limits.Ends) < 0 || max(o.Limits.MaxBytes, o.Limits.Ends) > shared.MaxMaxBytes || o.Limits.Notable < 0 || o.Limits.Notable > shared.MaxNotable:
		return o, fmt.Errorf("cannot use the limits %+v: MaxBytes and Ends must be from 0 to %d, Notable to %d", o.Limits, shared.MaxMaxBytes, shared.MaxNotable)
	case slices.ContainsFunc(o.Env, func(entry string) bool { return strings.Index(entry, "=") < 1 || strings.IndexByte(entry, 0) >= 0 }):
		return o, errors.New("cannot use Env: every entry must be KEY=VALUE, without a NUL byte")
	}
	return o, nil
}

// request returns what is the same in every dialect. live may be nil.
func (o Options) request(command string, live io.Writer) shared.ExecuteRequest {
	return shared.ExecuteRequest{Command: command, Dir: o.Dir, Env: o.Env, Limits: o.Limits, Stdout: live, Stderr: live}
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// fill completes a text for the model: it replaces the dialect's name of a tool, in
// braces, by the host's, and {timeout_ms}, {timeout_s}, {max_ms}, {max_s} and {call_limit}.
func (o Options) fill(text string) string {
	limit := ""
	if o.MaxWait > 0 {
		limit = "; a call waits at most " + seconds(o.MaxWait)
	}
	text = strings.ReplaceAll(text, "{call_limit}", limit)
	values := map[string]string{
		"timeout_ms": fmt.Sprint(o.Timeout.Milliseconds()), "timeout_s": fmt.Sprint(o.Timeout.Seconds()),
		"max_ms": fmt.Sprint(o.MaxTimeout.Milliseconds()), "max_s": fmt.Sprint(o.MaxTimeout.Seconds()),
	}
	return placeholder.ReplaceAllStringFunc(text, func(braced string) string {
		name := braced[1 : len(braced)-1]
		return cmp.Or(values[name], o.Names[name], name)
	})
}
