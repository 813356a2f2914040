package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// The task_id dialect's timeouts. The description that models are tuned to has a
// default above the maximum; the maximum wins.
const (
	taskDefaultTimeout = 30 * time.Minute
	taskMaxTimeout     = 10 * time.Minute
)

// taskID is the task_id dialect: three tools. A command that fails is not an error,
// and bash_output shows all output of a task each time. The dialect bans no
// commands: the host decides what may be run.
type taskID struct {
	bash  shared.Bash
	opts  Options
	tasks tasks
}

func newTaskID(bash shared.Bash, opts Options) *Toolset {
	d := &taskID{bash: bash, opts: opts, tasks: tasks{bash: bash, newID: newTaskName}}
	return &Toolset{tools: []tool{
		define("bash", taskIDDescription, Hints{Destructive: true, OpenWorld: true}, d.run),
		define("bash_output", taskIDOutputDescription, Hints{ReadOnly: true}, d.output),
		define("kill_bash", taskIDKillDescription, Hints{Destructive: true, Idempotent: true}, d.kill),
	}}
}

type taskIDArgs struct {
	Command    string   `json:"command" jsonschema:"The command to execute"`
	Timeout    *integer `json:"timeout,omitempty" jsonschema:"Optional timeout in milliseconds (max 600000)"`
	Background bool     `json:"run_in_background,omitempty" jsonschema:"Set to true to run this command in the background. Use bash_output to read output later."`
}

func (a taskIDArgs) check(map[string]bool) error {
	if a.Timeout != nil && *a.Timeout < 0 {
		return errors.New("timeout is negative: give milliseconds, or leave it out")
	}
	return checkCommand(a.Command)
}

type taskIDJobArgs struct {
	ID string `json:"task_id" jsonschema:"The ID of the background task"`
}

func newTaskName() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return "task_" + hex.EncodeToString(random[:])
}

func (d *taskID) run(ctx context.Context, args taskIDArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Mode, req.Timeout = shared.ModeAuto, taskTimeout(args.Timeout, taskDefaultTimeout)
	if args.Background {
		req.Mode, req.Timeout = shared.ModeBackground, taskTimeout(args.Timeout, 0)
		req.Merge = true // bash_output shows one stream
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return failed("Command execution failed", err)
	}
	id := d.tasks.addJob(ctx, r, req.Mode)
	switch {
	case r.Status == shared.StatusRunning || req.Mode == shared.ModeBackground && id != "":
		return Answer{Text: moved(id, r), Result: r, ID: id}
	case r.Status == shared.StatusKilled:
		return Answer{Text: cancelled(r), Result: r, ID: id}
	}
	return Answer{Text: report(id, r), Result: r, ID: id}
}

// taskTimeout cuts a timeout to the maximum.
func taskTimeout(given *integer, byDefault time.Duration) time.Duration {
	byDefault = min(byDefault, taskMaxTimeout)
	if given == nil {
		return byDefault
	}
	return milliseconds(min(*given, integer(taskMaxTimeout/time.Millisecond)), byDefault)
}

// moved is the text of a command that goes on as a task.
func moved(id string, r *shared.Result) string {
	return strings.Join([]string{
		"Command has been moved to background execution.",
		"Task ID: " + id,
		"Command: " + shorten(r.Command, maxCommand),
		"",
		"Initial output:",
		outputs(r),
		"Use bash_output tool with task_id to read further output.",
		"Use kill_bash tool with task_id to terminate the task.",
	}, "\n")
}

// outputs shows the output of a task, with a blank line after it.
func outputs(r *shared.Result) string {
	var parts []string
	if r.Stdout.Content != "" {
		parts = append(parts, endLine(r.Stdout.Content))
	}
	if r.Stderr.Content != "" {
		parts = append(parts, "Stderr:\n"+endLine(r.Stderr.Content))
	}
	switch {
	case parts == nil && over(r):
		return "(no output)\n"
	case parts == nil:
		return "(no output yet)\n"
	}
	return endLine(strings.Join(parts, "\n") + strings.TrimPrefix(omissions(r), "\n"))
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
	}
	if r.Stdout.Content != "" || r.Stderr.Content != "" {
		return text + " Below is the output (on stdout and stderr) before it was cancelled:\n" + strings.TrimSuffix(outputs(r), "\n")
	}
	return text + " There was no output before it was cancelled."
}

// report is the text of a command that has ended by itself.
func report(id string, r *shared.Result) string {
	text := strings.Join([]string{
		"Command: " + shorten(r.Command, maxCommand),
		"Directory: " + cmp.Or(r.Dir, "(root)"),
		"Stdout: " + cmp.Or(strings.TrimSuffix(r.Stdout.Content, "\n"), "(empty)"),
		"Stderr: " + cmp.Or(strings.TrimSuffix(r.Stderr.Content, "\n"), "(empty)"),
		"Error: (none)",
		"Exit Code: " + strconv.Itoa(r.ExitCode),
		"Signal: " + cmp.Or(r.Signal, "(none)"),
		"Background PIDs: " + cmp.Or(pids(r, 50, ", "), "(none)"),
		"Process Group PGID: " + strconv.Itoa(r.PID),
	}, "\n")
	if id != "" {
		text += "\nTask ID: " + id + " (of the background PIDs; use bash_output to read their output, kill_bash to terminate them)"
	}
	return text + omissions(r)
}

func (d *taskID) output(ctx context.Context, args taskIDJobArgs, _ io.Writer) Answer {
	id := args.ID
	_, r, err := d.tasks.check(ctx, id, shared.CheckRequest{All: true})
	if err != nil {
		return d.failed(id, err)
	}
	text := strings.Join([]string{
		"Command: " + shorten(r.Command, maxCommand),
		"Status: " + string(r.Status),
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
	return Answer{Text: strings.TrimSuffix(text, "\n"), Result: r, ID: id}
}

func (d *taskID) kill(ctx context.Context, args taskIDJobArgs, _ io.Writer) Answer {
	id := args.ID
	t, r, err := d.tasks.check(ctx, id, shared.CheckRequest{All: true})
	switch {
	case err != nil:
		return d.failed(id, err)
	case over(r):
		text := fmt.Sprintf("Task %s is not running (status: %s). Cannot terminate.", id, r.Status)
		return Answer{Text: text, IsError: true, Result: r, ID: id}
	}
	r, err = d.bash.Kill(ctx, shared.KillRequest{PID: t.pid})
	switch {
	case err != nil:
		text := fmt.Sprintf("Failed to terminate task %s. Process may have already exited.", id)
		return Answer{Text: text, IsError: true, Err: err, ID: id}
	case !over(r):
		text := fmt.Sprintf("Failed to terminate task %s: it was sent SIGKILL, but %s.", id, unstoppable)
		return Answer{Text: text, IsError: true, Result: r, ID: id}
	}
	t.final.Store(r)
	return Answer{Text: fmt.Sprintf("Successfully terminated task %s (%s)", id, shorten(r.Command, maxCommand)), Result: r, ID: id}
}

func (d *taskID) failed(id string, err error) Answer {
	text := fmt.Sprintf("Task %s is lost: %v", shorten(oneLine(id), maxQuoted), err)
	switch {
	case errors.Is(err, shared.ErrCrashed):
	case !errors.Is(err, shared.ErrNotFound):
		text = "no result: " + err.Error()
	case d.tasks.find(id) == nil:
		text = fmt.Sprintf("Task %s not found. %s", shorten(oneLine(id), maxQuoted), d.tasks.newest())
	default:
		text = fmt.Sprintf("Task %s not found: it has ended and its output is not kept any more.", id)
	}
	return Answer{Text: text, IsError: true, Err: err}
}
