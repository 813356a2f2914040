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

	// Env has variables (KEY=VALUE) for every command, beside the session's.
	Env []string

	// Confined says what every command may touch, as Result.Confined does. The model learns it
	// before it runs anything.
	Confined string

	// Names and Descriptions replace those of the dialect's tools. The keys are the
	// dialect's names.
	Names        map[string]string
	Descriptions map[string]string

	// Timeout is the timeout of a command whose call has none; 0: the dialect's.
	Timeout time.Duration

	// MaxTimeout is the longest timeout that a call may have; 0: the dialect's.
	MaxTimeout time.Duration

	// Limits are those of the output in an answer; the zero value: the dialect's.
	Limits shared.Limits

	// Most caps those limits, for a client that cuts answers: MaxBytes of a stream and, unless both
	// ends are kept, MaxLines. 0: no cap.
	Most shared.Limits

	// MaxWait is how long a call may take; 0: as long as its command's timeout. A
	// command that runs longer goes on as a job, in every dialect, and the answer
	// says so. A dialect that kills at the timeout still does.
	MaxWait time.Duration
}

// ErrLetRun is shared.ErrLetRun. A host whose client gives up waiting cancels the context
// of the call with this cause; then the command goes on as a job.
var ErrLetRun = shared.ErrLetRun

// errMaxWait is the cause of a call's end at Options.MaxWait. Its answer is delivered.
var errMaxWait = fmt.Errorf("the longest wait is over: %w", shared.ErrDetach)

// letRun reports whether a call has ended and its command goes on.
func letRun(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrLetRun) }

// goesOn says that the command of a call that has ended goes on until its timeout.
func goesOn(timeout time.Duration) string {
	return "This call waits no longer; the command goes on until its timeout of " + seconds(timeout) + "."
}

// withDefaults replaces zero values by those of a dialect.
func (o Options) withDefaults(defaults Options) Options {
	o.MaxTimeout = cmp.Or(o.MaxTimeout, defaults.MaxTimeout, 24*time.Hour)
	o.Timeout = cmp.Or(o.Timeout, min(defaults.Timeout, o.MaxTimeout))
	o.Limits = capped(cmp.Or(o.Limits, defaults.Limits), o.Most)
	return o
}

// capped returns limits of which none is beyond most.
func capped(l, most shared.Limits) shared.Limits {
	if most.MaxBytes > 0 {
		l.MaxBytes = min(cmp.Or(l.MaxBytes, shared.DefaultMaxBytes), most.MaxBytes)
		l.Ends = min(l.Ends, most.MaxBytes/2)
	}
	if l.MaxLines < 0 && most.MaxLines > 0 {
		l.MaxLines = most.MaxLines
	}
	if most.MaxLines > 0 {
		l.MaxLines = min(cmp.Or(l.MaxLines, shared.DefaultMaxLines), most.MaxLines)
	}
	return l
}

// validate checks options that have no zero values.
func (o Options) validate() error {
	if o.Dir != "" && !filepath.IsAbs(o.Dir) {
		return fmt.Errorf("cannot use the directory %q: give an absolute path", o.Dir)
	}
	if o.MaxWait < 0 || o.Timeout < 0 || o.Timeout > o.MaxTimeout {
		return fmt.Errorf("cannot use the times: MaxWait (%v) and Timeout (%v, at most MaxTimeout, %v) "+
			"must not be negative", o.MaxWait, o.Timeout, o.MaxTimeout)
	}
	sizes := []int{o.Limits.MaxBytes, o.Limits.Ends}
	isNotable := o.Limits.Notable >= 0 && o.Limits.Notable <= shared.MaxNotable
	if slices.Min(sizes) < 0 || slices.Max(sizes) > shared.MaxMaxBytes || !isNotable {
		return fmt.Errorf("cannot use the limits %+v: MaxBytes and Ends must be from 0 to %d, Notable to %d",
			o.Limits, shared.MaxMaxBytes, shared.MaxNotable)
	}
	if err := (shared.SessionConfig{Env: o.Env}).Validate(); err != nil {
		return fmt.Errorf("cannot use Env: every entry must be KEY=VALUE, without a NUL byte: %w", err)
	}
	return nil
}

// dir returns the directory of a command for which a call names one, or "".
func (o Options) dir(given string) string {
	if filepath.IsAbs(given) {
		return given
	}
	return filepath.Join(o.Dir, given)
}

// request returns the parts of a request that are the same in every dialect. live may be nil.
func (o Options) request(text command, live io.Writer) shared.ExecuteRequest {
	return shared.ExecuteRequest{
		Command: string(text),
		Dir:     o.Dir,
		Env:     o.Env,
		Limits:  o.Limits,
		Stdout:  live,
		Stderr:  live,
	}
}

// callLimit says how long a call may wait, "" if there is no limit.
func (o Options) callLimit() string {
	if o.MaxWait == 0 {
		return ""
	}
	return "a call waits at most " + seconds(o.MaxWait)
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// fill completes a text for the model: it replaces the dialect's name of a tool, in
// braces, by the host's, and {timeout_ms}, {timeout_s}, {max_ms}, {max_s} and {call_limit}.
func (o Options) fill(text string) string {
	limit := o.callLimit()
	if limit != "" {
		limit = "; " + limit
	}
	text = strings.ReplaceAll(text, "{call_limit}", limit)
	values := map[string]string{
		"timeout_ms": fmt.Sprint(o.Timeout.Milliseconds()),
		"timeout_s":  fmt.Sprint(o.Timeout.Seconds()),
		"max_ms":     fmt.Sprint(o.MaxTimeout.Milliseconds()),
		"max_s":      fmt.Sprint(o.MaxTimeout.Seconds()),
	}
	return placeholder.ReplaceAllStringFunc(text, func(braced string) string {
		name := braced[1 : len(braced)-1]
		return cmp.Or(values[name], o.Names[name], name)
	})
}
