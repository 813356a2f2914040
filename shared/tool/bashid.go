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

// BashID has bash, bash_output and kill_bash by bash_id; output is read once.
const BashID Dialect = "bash-id"

const bashIDDescription = "Execute bash commands. Returns the output and exit code of a foreground command, " +
	"which is killed at its timeout (default: {timeout_s} seconds), " +
	"and the bash_id of a background command, for {bash_output} and {kill_bash}. " +
	"Background commands are killed when the session ends. " +
	"Of long output the end is returned, and the path of a file that has all of it. " + freshShell

const bashIDOutputDescription = "Read output from a background process. Returns the new output since the last check, " +
	"the status (running/completed/failed/killed) and, once it has ended, the exit code."

const bashIDKillDescription = "Terminate a background process gracefully. Returns its output since the last check. " +
	"A process that has already ended is no error."

func bashIDDialect() dialect {
	return dialect{
		name:  BashID,
		tools: newBashID,
		defaults: Options{
			Timeout: 30 * time.Second,
			Limits:  shared.Limits{Notable: 10},
		},
		instructions: "Start what does not end by itself with run_in_background: " +
			"{bash_output} shows its output, {kill_bash} ends it.",
	}
}

// bashID is the bash_id dialect: three tools. A command that takes too long is
// killed, and the answer is an error; a command that fails is not an error.
// bash_output returns each byte of output once.
type bashID struct{ tasks }

func newBashID(bash shared.Bash, opts Options) *Toolset {
	d := &bashID{tasks{bash: bash, opts: opts, prefix: "bash_", noun: "background process with the bash_id"}}
	return &Toolset{tools: []tool{
		define(opts, "bash", bashIDDescription, runHints, d.run),
		define(opts, "bash_output", bashIDOutputDescription, showHints, d.output),
		define(opts, "kill_bash", bashIDKillDescription, endHints, d.kill),
	}}
}

type bashIDArgs struct {
	Command    command      `json:"command" jsonschema:"The bash command to execute"`
	Timeout    milliseconds `json:"timeout,omitempty" jsonschema:"Timeout in milliseconds (default: {timeout_ms}; in background: none)"`
	Background flag         `json:"run_in_background,omitempty" jsonschema:"Run the command in the background and return its bash_id at once"`
}

type bashIDJobArgs struct {
	ID jobID `json:"bash_id" jsonschema:"The bash_id that bash returned"`
}

func (d *bashID) run(ctx context.Context, args bashIDArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Mode = shared.ModeTerminate
	req.Timeout = args.Timeout.or(d.opts.Timeout)
	if args.Background {
		req.Mode = shared.ModeBackground
		req.Timeout = args.Timeout.or(0)
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.addJob(r, req.Mode)
	if r.Status == shared.StatusRunning || req.Mode == shared.ModeBackground && id != "" {
		text := described(id, r, streams(r)) + "\n\n" +
			d.opts.fill("Use {bash_output} with this bash_id to read its output, {kill_bash} to terminate it.")
		isStuck := false
		switch {
		case req.Mode == shared.ModeBackground:
		case letRun(ctx):
			text = bracket(goesOn(req.Timeout)) + "\n\n" + text
		default:
			isStuck = true
			text = bracket("Command was sent SIGKILL, but "+unstoppable+".") + "\n\n" + text
		}
		return Answer{Text: text, IsError: isStuck, Result: r, ID: id}
	}
	manage := d.opts.fill("Use {bash_output} or {kill_bash} with bash_id ") + id + "."
	text := account(r, req.Timeout, manage)
	if r.Cause == shared.CauseTimeout {
		text += "\n" + bracket("To run it longer, give a longer timeout or run_in_background=true.")
	}
	return Answer{Text: text, IsError: r.Status == shared.StatusKilled, Result: r, ID: id}
}

func (d *bashID) output(ctx context.Context, args bashIDJobArgs, _ io.Writer) Answer {
	id := string(args.ID)
	_, r, err := d.check(ctx, id, shared.CheckRequest{})
	if err != nil {
		return d.failed(id, err)
	}
	text := described(id, r, cmp.Or(streams(r), "(no new output)"))
	return Answer{Text: text, Result: r, ID: id}
}

func (d *bashID) kill(ctx context.Context, args bashIDJobArgs, _ io.Writer) Answer {
	id := string(args.ID)
	r, said, err := d.tasks.kill(ctx, "Process "+id, id, 0)
	switch {
	case errors.Is(err, shared.ErrNotFound) && d.find(id) != nil:
		return Answer{Text: fmt.Sprintf("Process %s is not running any more.", id), ID: id}
	case err != nil:
		return d.failed(id, err)
	}
	text := said + ".\n" + described(id, r, streams(r))
	return Answer{Text: text, IsError: !over(r), Result: r, ID: id}
}

// described is the text about a background process: its state, and then body.
func described(id string, r *shared.Result, body string) string {
	text := fmt.Sprintf("bash_id: %s\nstatus: %s", id, r.Status)
	if r.Status != shared.StatusRunning {
		text += "\nexit code: " + exitCode(r)
	}
	if why := unasked(r); why != "" {
		text += "\n" + why
	}
	if len(r.Leftover) > 0 {
		text += "\nstill running: " + listed(r.Leftover)
	}
	return beforeCut(r) + strings.TrimRight(text+"\n\n"+body, "\n")
}
