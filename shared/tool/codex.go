package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bashplugin/shared"
)

// Codex has exec_command and write_stdin, as in Codex.
const Codex Dialect = "codex"

const codexDescription = "Run a command with bash. A command that runs longer than yield_time_ms goes on, " +
	"and the answer has its session ID for {write_stdin}. " + freshShell

const codexWriteDescription = "Type into a running session, or wait for it, and return its new output. " +
	"\\u0003 is Ctrl-C."

func codexDialect() dialect {
	return dialect{
		name:  Codex,
		tools: newCodex,
		defaults: Options{
			Timeout:    10 * time.Second,
			MaxTimeout: 5 * time.Minute,
			Limits:     shared.Limits{MaxLines: -1, MaxBytes: 40000, Ends: 20000, Notable: 10},
		},
		instructions: "A command that takes long goes on as a session: " +
			"{write_stdin} waits for it and types into it.",
	}
}

// codex is the dialect with the names and the result shapes of Codex' exec_command and
// write_stdin. A command that takes longer than its call becomes a session, named by
// its pid.
type codex struct{ tasks }

func newCodex(bash shared.Bash, opts Options) *Toolset {
	d := &codex{tasks{bash: bash, opts: opts, prefix: "session_", noun: "session"}}
	return &Toolset{tools: []tool{
		define(opts, "exec_command", codexDescription, runHints, d.run),
		define(opts, "write_stdin", codexWriteDescription, runHints, d.write),
	}}
}

// tokenBytes is about how long a token is.
const tokenBytes = 4

// tokens is how much output to return.
type tokens integer

// UnmarshalJSON implements json.Unmarshaler.
func (n *tokens) UnmarshalJSON(raw []byte) error { return (*integer)(n).UnmarshalJSON(raw) }

func (n tokens) check(_ Options, name string) error {
	return integer(n).checkRange(name, 0, shared.MaxMaxBytes/tokenBytes)
}

// or returns the limits for these tokens, or byDefault for none.
func (n tokens) or(byDefault shared.Limits) shared.Limits {
	if n == 0 {
		return byDefault
	}
	return shared.Limits{MaxBytes: int(n) * tokenBytes, Ends: int(n) * tokenBytes / 2, Notable: 10}
}

type codexArgs struct {
	Command command      `json:"cmd" jsonschema:"The command, for bash -c"`
	Dir     string       `json:"workdir,omitempty" jsonschema:"Directory to run in"`
	Stdin   flag         `json:"tty,omitempty" jsonschema:"Run it in a terminal and keep its stdin open for {write_stdin}; otherwise it has no stdin"`
	Yield   milliseconds `json:"yield_time_ms,omitempty" jsonschema:"Milliseconds to wait for its end (default {timeout_ms}{call_limit})"`
	Tokens  tokens       `json:"max_output_tokens,omitempty" jsonschema:"How much output to return; of more, the middle is left out (default 10000)"`
}

type codexWriteArgs struct {
	Session processID    `json:"session_id" jsonschema:"The session ID of a running command"`
	Input   string       `json:"chars,omitempty" jsonschema:"What to type; empty: only wait for output"`
	Yield   milliseconds `json:"yield_time_ms,omitempty" jsonschema:"Milliseconds to wait (default 250, without chars 5000{call_limit})"`
	Tokens  tokens       `json:"max_output_tokens,omitempty" jsonschema:"As for {exec_command}"`
}

func (d *codex) run(ctx context.Context, args codexArgs, live io.Writer) Answer {
	began := time.Now()
	req := d.opts.request(args.Command, live)
	req.Dir = d.opts.dir(args.Dir)
	req.Timeout = args.Yield.or(d.opts.Timeout)
	req.Merge = true
	req.Limits = args.Tokens.or(d.opts.Limits)
	if args.Stdin {
		req.Stdin = shared.StdinTTY
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return failed("exec_command failed", err)
	}
	told := shared.Output{}
	if id := d.addJob(r, req.Mode); id != "" {
		told = d.tell(d.find(id), r.Stdout)
	}
	return codexAnswer(r, told, time.Since(began))
}

func (d *codex) write(ctx context.Context, args codexWriteArgs, _ io.Writer) Answer {
	began := time.Now()
	wait := 250 * time.Millisecond
	if args.Input == "" {
		wait = 5 * time.Second
	}
	id := strconv.Itoa(int(args.Session))
	req := shared.CheckRequest{
		Input:  args.Input,
		Wait:   args.Yield.or(wait),
		Limits: args.Tokens.or(d.opts.Limits),
	}
	t, r, err := d.check(ctx, id, req)
	if errors.Is(err, shared.ErrInvalid) {
		t, r, err = d.unwritten(ctx, id, req, err)
	}
	if err != nil {
		return failed("write_stdin failed", err)
	}
	return codexAnswer(r, d.tell(t, r.Stdout), time.Since(began))
}

// unwritten answers input that a session does not take: one that has ended shows its last output,
// and Ctrl-C ends one without a terminal.
func (d *codex) unwritten(
	ctx context.Context, id string, req shared.CheckRequest, why error,
) (*task, *shared.Result, error) {
	t, r, err := d.peek(ctx, id, shared.CheckRequest{})
	switch {
	case err != nil:
		return nil, nil, why
	case r.Status != shared.StatusRunning:
		return d.check(ctx, id, shared.CheckRequest{Limits: req.Limits})
	case req.Input == "\x03":
		r, _, err = d.kill(ctx, id, id, syscall.SIGINT)
		return t, r, err
	}
	return nil, nil, why
}

// codexAnswer is the answer to a call that has taken a time. told is the stream as the answer
// before had it. What Codex itself does not say comes after its shape.
func codexAnswer(r *shared.Result, told shared.Output, taken time.Duration) Answer {
	state := fmt.Sprintf("Process exited with code %d", r.ExitCode)
	if r.Status == shared.StatusRunning {
		state = fmt.Sprintf("Process running with session ID %d", r.PID)
	}
	id := ""
	notes := ""
	if !over(r) {
		id = strconv.Itoa(r.PID)
	}
	size := max(r.Stdout.TotalBytes-told.TotalBytes, int64(r.Stdout.OutputBytes))
	text := shown(r, r.Stdout)
	if r.Stdout.Truncated {
		text = fmt.Sprintf("Warning: truncated output (original token count: %d)\nTotal output lines: %d\n\n",
			tokensOf(size), r.Stdout.TotalLines-told.TotalLines)
		text += fmt.Sprintf("%s…%d tokens truncated…%s",
			r.Stdout.Head, tokensOf(size-int64(r.Stdout.OutputBytes)), r.Stdout.Content)
		notes += "\n" + bracket(fullOutput(r.Stdout))
	}
	if r.Status != shared.StatusRunning && len(r.Leftover) > 0 {
		notes += "\n" + bracket(fmt.Sprintf("Still running, in session %d: %s", r.PID, listed(r.Leftover)))
	}
	lines := []string{
		"Chunk ID: " + strings.ToLower(rand.Text()[:6]),
		fmt.Sprintf("Wall time: %.4f seconds", taken.Seconds()),
		state,
		fmt.Sprintf("Original token count: %d", tokensOf(size)),
		"Output:",
		text,
	}
	answer := strings.Join(lines, "\n")
	if notes != "" {
		answer = withoutNewline(answer) + notes
	}
	return Answer{Text: answer, Result: r, ID: id}
}

// tokensOf is about how many tokens so many bytes are.
func tokensOf(size int64) int64 { return (size + tokenBytes - 1) / tokenBytes }
