package tool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// codex is the dialect with the names and the result shapes of Codex' exec_command and
// write_stdin. A command that takes longer than its call becomes a session, named by
// its pid.
type codex struct{ tasks }

func newCodex(bash shared.Bash, opts Options) *Toolset {
	d := &codex{tasks{bash: bash, opts: opts, prefix: "session_", noun: "session"}}
	return &Toolset{terse: true, tools: []tool{
		define(opts, "exec_command", codexDescription, Hints{Destructive: true, OpenWorld: true}, d.run),
		define(opts, "write_stdin", codexWriteDescription, Hints{Destructive: true, OpenWorld: true}, d.write),
	}}
}

const (
	tokenBytes = 4 // how long a token is, about
	maxTokens  = shared.MaxMaxBytes / tokenBytes
)

type codexArgs struct {
	Command string  `json:"cmd" jsonschema:"The command, for bash -c"`
	Dir     string  `json:"workdir,omitempty" jsonschema:"Directory to run in"`
	TTY     flag    `json:"tty,omitempty" jsonschema:"Run it in a terminal and keep its stdin open for {write_stdin}; otherwise it has no stdin"`
	Yield   integer `json:"yield_time_ms,omitempty" jsonschema:"Milliseconds to wait for its end (default {timeout_ms}{call_limit})"`
	Tokens  integer `json:"max_output_tokens,omitempty" jsonschema:"How much output to return; of more, the middle is left out (default 10000)"`
}

func (a codexArgs) check(opts Options, _ map[string]bool) error {
	return cmp.Or(checkCommand(a.Command), checkTime(opts, "yield_time_ms", a.Yield, time.Millisecond), checkRange("max_output_tokens", a.Tokens, 0, maxTokens))
}

type codexWriteArgs struct {
	Session integer `json:"session_id" jsonschema:"The session ID of a running command"`
	Chars   string  `json:"chars,omitempty" jsonschema:"What to type; empty: only wait for output"`
	Yield   integer `json:"yield_time_ms,omitempty" jsonschema:"Milliseconds to wait (default 250, without chars 5000{call_limit})"`
	Tokens  integer `json:"max_output_tokens,omitempty" jsonschema:"As for {exec_command}"`
}

func (a codexWriteArgs) check(opts Options, _ map[string]bool) error {
	return cmp.Or(checkRange("session_id", a.Session, 1, math.MaxInt32), checkTime(opts, "yield_time_ms", a.Yield, time.Millisecond), checkRange("max_output_tokens", a.Tokens, 0, maxTokens))
}

// limits returns the limits for a number of tokens; 0: the host's.
func (d *codex) limits(tokens integer) shared.Limits {
	return cmp.Or(shared.Limits{MaxBytes: int(tokens) * tokenBytes, Ends: int(tokens) * tokenBytes / 2}, d.opts.Limits)
}

func (d *codex) run(ctx context.Context, args codexArgs, live io.Writer) Answer {
	began, req := time.Now(), d.opts.request(args.Command, live)
	req.Timeout, req.Merge, req.Limits = times(args.Yield, time.Millisecond, d.opts.Timeout), true, d.limits(args.Tokens)
	if req.Dir = args.Dir; !filepath.IsAbs(args.Dir) {
		req.Dir = filepath.Join(d.opts.Dir, args.Dir)
	}
	if args.TTY {
		req.Stdin = shared.StdinTTY
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return failed("exec_command failed", err)
	}
	d.addJob(r, req.Mode)
	return codexAnswer(r, began)
}

func (d *codex) write(ctx context.Context, args codexWriteArgs, _ io.Writer) Answer {
	began, wait := time.Now(), 250*time.Millisecond
	if args.Chars == "" {
		wait = 5 * time.Second
	}
	req := shared.CheckRequest{Input: args.Chars, Wait: times(args.Yield, time.Millisecond, wait), Limits: d.limits(args.Tokens)}
	_, r, err := d.check(ctx, strconv.Itoa(int(args.Session)), req)
	if err != nil {
		return failed("write_stdin failed", err)
	}
	return codexAnswer(r, began)
}

func codexAnswer(r *shared.Result, began time.Time) Answer {
	state, id, o := fmt.Sprintf("Process exited with code %d", r.ExitCode), "", r.Stdout
	if !over(r) {
		id = strconv.Itoa(r.PID)
	}
	if r.Status == shared.StatusRunning {
		state = "Process running with session ID " + id
	}
	size := int64(o.OutputBytes)
	if o.Truncated {
		size = o.TotalBytes
		o.Content = fmt.Sprintf("%s…%d tokens truncated…%s", o.Head, (size-int64(o.OutputBytes))/tokenBytes, o.Content)
	}
	text := fmt.Sprintf("Wall time: %.4f seconds\n%s\nOriginal token count: %d\nOutput:\n%s", time.Since(began).Seconds(), state, (size+tokenBytes-1)/tokenBytes, o.Content)
	return Answer{Text: strings.TrimSuffix(text, "\n"), Result: r, ID: id}
}
