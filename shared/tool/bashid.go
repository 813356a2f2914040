package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bashplugin/shared"
)

// bashID is the bash_id dialect: three tools. A command that takes too long is
// killed, and the answer is an error; a command that fails is not an error.
// bash_output returns each byte of output once.
type bashID struct {
	bash  shared.Bash
	opts  Options
	tasks tasks
}

func newBashID(bash shared.Bash, opts Options) *Toolset {
	d := &bashID{bash: bash, opts: opts, tasks: tasks{bash: bash, prefix: "bash_", limits: opts.Limits}}
	return &Toolset{tools: []tool{
		define(opts, "bash", bashIDDescription, Hints{Destructive: true, OpenWorld: true}, d.run),
		define(opts, "bash_output", bashIDOutputDescription, Hints{ReadOnly: true}, d.output),
		define(opts, "kill_bash", bashIDKillDescription, Hints{Destructive: true, Idempotent: true}, d.kill),
	}}
}

type bashIDArgs struct {
	Command    string  `json:"command" jsonschema:"The bash command to execute"`
	Timeout    integer `json:"timeout,omitempty" jsonschema:"Timeout in milliseconds (default: {timeout_ms}; in background: none)"`
	Background flag    `json:"run_in_background,omitempty" jsonschema:"Run the command in the background and return its bash_id at once"`
}

func (a bashIDArgs) check(opts Options, _ map[string]bool) error {
	return checkRun(opts, a.Command, a.Timeout)
}

type bashIDJobArgs struct {
	ID string `json:"bash_id" jsonschema:"The bash_id that bash returned"`
}

func (d *bashID) run(ctx context.Context, args bashIDArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Mode, req.Timeout = shared.ModeTerminate, times(args.Timeout, time.Millisecond, d.opts.Timeout)
	if args.Background {
		req.Mode, req.Timeout = shared.ModeBackground, times(args.Timeout, time.Millisecond, 0)
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.tasks.addJob(ctx, r, req.Mode)
	if r.Status == shared.StatusRunning || req.Mode == shared.ModeBackground && id != "" {
		text := state(id, r, streams(r)) + d.opts.fill("\n\nUse {bash_output} with this bash_id to read its output, {kill_bash} to terminate it.")
		stuck := false
		switch {
		case req.Mode == shared.ModeBackground:
		case letRun(ctx):
			text = bracket(goesOn(req.Timeout), "") + "\n\n" + text
		default:
			stuck = true
			text = "[Command was sent SIGKILL, but " + unstoppable + ".]\n\n" + text
		}
		return Answer{Text: text, IsError: stuck, Result: r, ID: id}
	}
	manage := d.opts.fill("Use {bash_output} or {kill_bash} with bash_id ") + id + "."
	text := account(r, req.Timeout, manage)
	if r.Cause == shared.CauseTimeout {
		text += "\n" + bracket("To run it longer, give a longer timeout or run_in_background=true.", "")
	}
	return Answer{Text: text, IsError: r.Status == shared.StatusKilled, Result: r, ID: id}
}

func (d *bashID) output(ctx context.Context, args bashIDJobArgs, _ io.Writer) Answer {
	id := args.ID
	_, r, err := d.tasks.check(ctx, id, shared.CheckRequest{})
	if err != nil {
		return d.failed(id, err)
	}
	return Answer{Text: state(id, r, cmp.Or(streams(r), "(no new output)\n")), Result: r, ID: id}
}

func (d *bashID) kill(ctx context.Context, args bashIDJobArgs, _ io.Writer) Answer {
	id := args.ID
	r, had, err := d.tasks.kill(ctx, id)
	switch {
	case errors.Is(err, shared.ErrNotFound) && d.tasks.find(id) != nil:
		return Answer{Text: fmt.Sprintf("Process %s is not running any more.", id), ID: id}
	case err != nil:
		return d.failed(id, err)
	}
	text := fmt.Sprintf("Process %s terminated.\n", id)
	switch {
	case had:
		text = fmt.Sprintf("Process %s had already ended.\n", id)
	case !over(r):
		text = fmt.Sprintf("Process %s was sent SIGKILL, but %s.\n", id, unstoppable)
	}
	return Answer{Text: text + state(id, r, streams(r)), IsError: !over(r), Result: r, ID: id}
}

// state is the text about a background process: its state, and then body.
func state(id string, r *shared.Result, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bash_id: %s\nstatus: %s\n", id, r.Status)
	if r.Status != shared.StatusRunning {
		fmt.Fprintf(&b, "exit code: %s\n", exitCode(r))
	}
	for _, sentence := range []string{unasked(r), endedToo(r)} {
		if sentence != "" {
			b.WriteString(sentence + "\n")
		}
	}
	if len(r.Leftover) > 0 {
		fmt.Fprintf(&b, "still running: %s\n", listed(r.Leftover))
	}
	if body != "" {
		b.WriteString("\n" + strings.TrimSuffix(body, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n") + omissions(r)
}

func (d *bashID) failed(id string, err error) Answer {
	var known *shared.Error
	if !errors.As(err, &known) {
		return failed("no result", err)
	}
	text := string(known.Code) + ": " + d.tasks.problem("background process with the bash_id", id, err)
	return Answer{Text: text, IsError: true, Err: err}
}
