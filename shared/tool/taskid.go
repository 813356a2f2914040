package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// TaskID has bash, bash_output and kill_bash by task_id; development commands move to the
// background by themselves.
const TaskID Dialect = "task-id"

const taskIDDescription = "Run shell commands in the terminal, with support for long-running background tasks.\n" +
	"\n" +
	"Background Execution:\n" +
	"- Commands matching development patterns (npm/pnpm/yarn, dev servers, build watchers) " +
	"automatically move to background after 2 seconds if producing output\n" +
	"- Set run_in_background=true to force background execution\n" +
	"- Background tasks return a task_id for use with {bash_output} and {kill_bash} tools\n" +
	"- Initial output shown when moved to background\n" +
	"\n" +
	"Notes:\n" +
	"- Optional timeout in milliseconds (default {timeout_ms}), cut to {max_ms}; the command is killed then. " +
	"In the background there is none, unless one is given\n" +
	"- Quote file paths with spaces; separate multiple commands with ';' or '&&', not newlines; " +
	"don't add a `<command>` wrapper\n" +
	"- Each command starts in the same directory: use absolute paths, not `cd`: " +
	`"pytest /foo/bar/tests", not "cd /foo/bar && pytest tests"`

const taskIDOutputDescription = "Retrieve output from a background bash task, by its task_id. " +
	"Returns the accumulated stdout and stderr, and the current status (running/completed/killed/failed). " +
	"Use this to monitor long-running background tasks."

const taskIDKillDescription = "Terminate a running background bash task, by its task_id. " +
	"Sends SIGTERM first, then SIGKILL if needed. Returns success or failure status."

func taskIDDialect() dialect {
	return dialect{
		name:  TaskID,
		tools: newTaskID,
		defaults: Options{
			Timeout:    10 * time.Minute,
			MaxTimeout: 10 * time.Minute,
			Limits:     shared.Limits{Notable: 10},
		},
		instructions: "A command that goes on in the background is a task: " +
			"{bash_output} shows its output, {kill_bash} ends it.",
	}
}

// taskID is the task_id dialect: three tools. A command that fails is not an error,
// and bash_output shows all output of a task each time. The dialect bans no
// commands: the host decides what may be run.
type taskID struct{ tasks }

func newTaskID(bash shared.Bash, opts Options) *Toolset {
	d := &taskID{tasks{bash: bash, opts: opts, prefix: "task_", noun: "task"}}
	return &Toolset{tools: []tool{
		define(opts, "bash", taskIDDescription, runHints, d.run),
		define(opts, "bash_output", taskIDOutputDescription, showHints, d.output),
		define(opts, "kill_bash", taskIDKillDescription, endHints, d.kill),
	}}
}

type taskIDArgs struct {
	Command    command `json:"command" jsonschema:"The command to execute"`
	Timeout    integer `json:"timeout,omitempty" jsonschema:"Optional timeout in milliseconds (max {max_ms})"`
	Background flag    `json:"run_in_background,omitempty" jsonschema:"Set to true to run this command in the background. Use {bash_output} to read output later."`
}

// check takes timeouts of any length: those beyond the longest are cut to it.
func (a taskIDArgs) check(arguments) error {
	return a.Timeout.checkRange("timeout", 0, maxInteger)
}

type taskIDJobArgs struct {
	ID jobID `json:"task_id" jsonschema:"The ID of the background task"`
}

func (d *taskID) run(ctx context.Context, args taskIDArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	longest := integer(d.opts.MaxTimeout.Milliseconds())
	given := time.Duration(min(args.Timeout, longest)) * time.Millisecond
	req.Mode = shared.ModeAuto
	req.Timeout = cmp.Or(given, d.opts.Timeout)
	if args.Background {
		req.Mode = shared.ModeBackground
		req.Timeout = given
		req.Merge = true // bash_output shows one stream
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return failed("Command execution failed", err)
	}
	id := d.addJob(r, req.Mode)
	switch {
	case r.Status == shared.StatusRunning || req.Mode == shared.ModeBackground && id != "":
		text := "Command has been moved to background execution."
		if letRun(ctx) && !bool(args.Background) {
			text += " " + goesOn(req.Timeout)
		}
		return Answer{Text: beforeCut(r) + text + d.moved(id, r), Result: r, ID: id}
	case r.Status == shared.StatusKilled:
		return Answer{Text: beforeCut(r) + cancelled(r), Result: r, ID: id}
	}
	return Answer{Text: beforeCut(r) + d.report(id, r), Result: r, ID: id}
}

// moved is the text of a command that goes on as a task, after its first line.
func (d *taskID) moved(id string, r *shared.Result) string {
	return strings.Join([]string{
		"",
		"Task ID: " + id,
		"Command: " + shorten(r.Command, maxCommand),
		"",
		"Initial output:",
		outputs(r),
		d.opts.fill("Use {bash_output} tool with task_id to read further output."),
		d.opts.fill("Use {kill_bash} tool with task_id to terminate the task."),
	}, "\n")
}

// outputs shows the output of a task, with a blank line after it.
func outputs(r *shared.Result) string {
	var parts []string
	if text := shown(r, r.Stdout); text != "" {
		parts = append(parts, endLine(text))
	}
	if text := shown(r, r.Stderr); text != "" {
		parts = append(parts, "Stderr:\n"+endLine(text))
	}
	switch {
	case parts == nil && over(r):
		return "(no output)\n"
	case parts == nil:
		return "(no output yet)\n"
	}
	return endLine(strings.Join(parts, "\n"))
}

// cancelled is the text of a command that was killed.
func cancelled(r *shared.Result) string {
	text := "Command execution was cancelled."
	switch {
	case r.PID == 0:
		return "Command execution was cancelled before it began. Nothing was run."
	case r.Cause == shared.CauseTimeout:
		text = "Command execution timed out and was cancelled."
	case r.Cause == shared.CauseClose:
		text = "Command execution was cancelled: the session was closed."
	case r.Exceeded != "":
		text = "Command execution was cancelled: " + r.Exceeded + "."
	}
	if streams(r) != "" {
		return text + " Below is the output (on stdout and stderr) before it was cancelled:\n" +
			withoutNewline(outputs(r))
	}
	return text + " There was no output before it was cancelled."
}

// report is the text of a command that has ended by itself.
func (d *taskID) report(id string, r *shared.Result) string {
	text := strings.Join([]string{
		"Command: " + shorten(r.Command, maxCommand),
		"Directory: " + cmp.Or(r.Dir, "(root)"),
		"Stdout: " + cmp.Or(withoutNewline(shown(r, r.Stdout)), "(empty)"),
		"Stderr: " + cmp.Or(withoutNewline(shown(r, r.Stderr)), "(empty)"),
		"Error: (none)",
		"Exit Code: " + strconv.Itoa(r.ExitCode),
		"Signal: " + cmp.Or(r.Signal, "(none)"),
		"Background PIDs: " + cmp.Or(pids(r, 50, ", "), "(none)"),
		"Process Group PGID: " + strconv.Itoa(r.PID),
	}, "\n")
	if id != "" {
		text += "\nTask ID: " + id + d.opts.fill(" (of the background PIDs; "+
			"use {bash_output} to read their output, {kill_bash} to terminate them)")
	}
	return text
}

func (d *taskID) output(ctx context.Context, args taskIDJobArgs, _ io.Writer) Answer {
	id := string(args.ID)
	_, r, err := d.check(ctx, id, shared.CheckRequest{All: true})
	if err != nil {
		return d.failed(id, err)
	}
	text := strings.Join([]string{
		"Command: " + shorten(r.Command, maxCommand),
		join("\n", "Status: "+string(r.Status), unasked(r)),
		"PID: " + strconv.Itoa(r.PID),
		"Created: " + r.Started.UTC().Format("2006-01-02T15:04:05.000Z"),
		"",
		"Output:",
		outputs(r),
	}, "\n")
	if r.Status != shared.StatusRunning {
		text += "\nExit Code: " + exitCode(r)
	}
	if len(r.Leftover) > 0 {
		text += "\nBackground PIDs: " + pids(r, 50, ", ")
	}
	return Answer{Text: beforeCut(r) + withoutNewline(text), Result: r, ID: id}
}

func (d *taskID) kill(ctx context.Context, args taskIDJobArgs, _ io.Writer) Answer {
	id := string(args.ID)
	t, r, err := d.check(ctx, id, shared.CheckRequest{All: true})
	switch {
	case err != nil:
		return d.failed(id, err)
	case over(r):
		text := fmt.Sprintf("Task %s is not running (status: %s). Cannot terminate.", id, r.Status)
		return Answer{Text: text, IsError: true, Result: r, ID: id}
	}
	r, err = d.bash.Kill(ctx, shared.KillRequest{PID: t.pid, Limits: d.opts.Limits})
	switch {
	case err != nil:
		return d.failed(id, err)
	case !over(r):
		text := fmt.Sprintf("Failed to terminate task %s: it was sent SIGKILL, but %s.", id, unstoppable)
		return Answer{Text: text, IsError: true, Result: r, ID: id}
	}
	t.final.Store(r)
	text := fmt.Sprintf("Successfully terminated task %s (%s)", id, shorten(r.Command, maxCommand))
	if ended := endedToo(r); ended != "" {
		text += ". " + ended + "."
	}
	return Answer{Text: text, Result: r, ID: id}
}

func (d *taskID) failed(id string, err error) Answer {
	if !errors.Is(err, shared.ErrNotFound) {
		return d.tasks.failed(id, err)
	}
	why := d.newest()
	switch {
	case !isForgotten(err): // it was lost by a crash
		why = err.Error()
	case d.find(id) != nil:
		why = d.notKept(id)
	}
	text := "Task " + shorten(oneLine(id), maxQuoted) + " not found. " + why
	return Answer{Text: text, IsError: true, Err: err}
}
