package tool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// The task_id dialect's timeouts. Its default is longer than what it allows,
// which wins.
const (
	taskDefaultTimeout = 30 * time.Minute
	taskMaxTimeout     = 10 * time.Minute
)

// taskFinalLimits bound what is remembered of a task that was killed.
var taskFinalLimits = shared.Limits{MaxBytes: 16 << 10}

// taskID is the task_id dialect: three tools. A command that fails is not an
// error in it, and reading a task shows all its output each time. It has no
// list of banned commands: what may be run is for the host to say.
type taskID struct {
	bash  shared.Bash
	dir   string
	tasks tasks
}

func newTaskID(bash shared.Bash, opts Options) []tool {
	d := &taskID{bash: bash, dir: opts.Dir, tasks: tasks{bash: bash, newID: newTaskName}}
	return []tool{
		{
			Definition: Definition{Name: "bash", Description: taskBashDescription, Hints: Hints{Destructive: true, OpenWorld: true}},
			parameters: parameters{
				{name: "command", kind: stringKind, text: validCommand, required: true, description: "The command to execute"},
				{name: "timeout", kind: integerKind, nullable: true, max: math.MaxInt64, description: "Optional timeout in milliseconds (max 600000)"},
				{name: "run_in_background", kind: booleanKind, description: "Set to true to run this command in the background. Use bash_output to read output later."},
			},
			call: d.run,
		},
		{
			Definition: Definition{Name: "bash_output", Description: taskOutputDescription, Hints: Hints{ReadOnly: true}},
			parameters: parameters{{name: "task_id", kind: stringKind, required: true, description: "The ID of the background task"}},
			call:       d.output,
		},
		{
			Definition: Definition{Name: "kill_bash", Description: taskKillDescription, Hints: Hints{Destructive: true, Idempotent: true}},
			parameters: parameters{{name: "task_id", kind: stringKind, required: true, description: "The ID of the background task to terminate"}},
			call:       d.kill,
		},
	}
}

func newTaskName() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return "task_" + hex.EncodeToString(random[:])
}

func (d *taskID) run(ctx context.Context, args arguments, live io.Writer) Answer {
	req := shared.ExecuteRequest{
		Command: args.text("command"),
		Mode:    shared.ModeAuto,
		Timeout: d.timeout(args),
		Dir:     d.dir,
		Stdout:  live,
		Stderr:  live,
	}
	if args.flag("run_in_background") {
		req.Mode, req.Merge = shared.ModeBackground, true // its output is read as one
		if args.number("timeout") == 0 {
			req.Timeout = 0
		}
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return failed("Command execution failed", err)
	}
	id := d.tasks.addJob(r, req.Mode)
	switch {
	case r.Status == shared.StatusRunning || req.Mode == shared.ModeBackground && id != "":
		return Answer{Text: moved(id, r), Result: r, ID: id}
	case r.Status == shared.StatusKilled:
		return Answer{Text: cancelled(r), Result: r, ID: id}
	}
	return Answer{Text: report(id, r), Result: r, ID: id}
}

// timeout returns the argument, which is cut to the maximum.
func (*taskID) timeout(args arguments) time.Duration {
	ms := min(args.number("timeout"), int64(taskMaxTimeout/time.Millisecond))
	if ms == 0 {
		return min(taskDefaultTimeout, taskMaxTimeout)
	}
	return time.Duration(ms) * time.Millisecond
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

// outputs shows what a task has written, with a blank line after it.
func outputs(r *shared.Result) string {
	var b strings.Builder
	switch {
	case r.Stdout.Content == "" && r.Stderr.Content == "" && over(r):
		return "(no output)\n"
	case r.Stdout.Content == "" && r.Stderr.Content == "":
		return "(no output yet)\n"
	case r.Stdout.Content == "":
		b.WriteString("Stderr:\n" + endLine(r.Stderr.Content))
	case r.Stderr.Content == "":
		b.WriteString(endLine(r.Stdout.Content))
	default:
		b.WriteString(endLine(r.Stdout.Content) + "\nStderr:\n" + endLine(r.Stderr.Content))
	}
	if cut := omissions(r); cut != "" {
		b.WriteString(cut[1:] + "\n")
	}
	return b.String()
}

// cancelled is the text of a command that was killed before it had ended.
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
		"Directory: " + orElse(r.Dir, "(root)"),
		"Stdout: " + orElse(strings.TrimSuffix(r.Stdout.Content, "\n"), "(empty)"),
		"Stderr: " + orElse(strings.TrimSuffix(r.Stderr.Content, "\n"), "(empty)"),
		"Error: (none)",
		"Exit Code: " + strconv.Itoa(r.ExitCode),
		"Signal: " + orElse(r.Signal, "(none)"),
		"Background PIDs: " + orElse(pids(r.Leftover), "(none)"),
		"Process Group PGID: " + strconv.Itoa(r.PID),
	}, "\n")
	if id != "" {
		text += "\nTask ID: " + id + " (of the background PIDs; use bash_output to read their output, kill_bash to terminate them)"
	}
	return text + omissions(r)
}

func (d *taskID) output(ctx context.Context, args arguments, _ io.Writer) Answer {
	id := args.text("task_id")
	r, err := d.tasks.check(ctx, id, shared.CheckRequest{All: true})
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
		text += "\nBackground PIDs: " + pids(r.Leftover)
	}
	return Answer{Text: strings.TrimSuffix(text, "\n"), Result: r, ID: id}
}

func (d *taskID) kill(ctx context.Context, args arguments, _ io.Writer) Answer {
	id := args.text("task_id")
	r, err := d.tasks.check(ctx, id, shared.CheckRequest{All: true})
	switch {
	case err != nil:
		return d.failed(id, err)
	case over(r):
		text := fmt.Sprintf("Task %s is not running (status: %s). Cannot terminate.", id, r.Status)
		return Answer{Text: text, IsError: true, Result: r, ID: id}
	}
	r, err = d.tasks.kill(ctx, id, taskFinalLimits)
	switch {
	case err != nil:
		text := fmt.Sprintf("Failed to terminate task %s. Process may have already exited.", id)
		return Answer{Text: text, IsError: true, Err: err, ID: id}
	case !over(r):
		text := fmt.Sprintf("Failed to terminate task %s: it was sent SIGKILL, but %s.", id, unstoppable)
		return Answer{Text: text, IsError: true, Result: r, ID: id}
	}
	d.tasks.remember(id, r)
	return Answer{Text: fmt.Sprintf("Successfully terminated task %s (%s)", id, shorten(r.Command, maxCommand)), Result: r, ID: id}
}

func (d *taskID) failed(id string, err error) Answer {
	text := fmt.Sprintf("Task %s is lost: %v", shorten(oneLine(id), maxQuoted), err)
	switch {
	case errors.Is(err, shared.ErrCrashed):
	case !errors.Is(err, shared.ErrNotFound):
		text = "no result: " + err.Error()
	case d.tasks.find(id).id == "":
		text = fmt.Sprintf("Task %s not found. %s", shorten(oneLine(id), maxQuoted), d.tasks.known())
	default:
		text = fmt.Sprintf("Task %s not found: it has ended and its output is not kept any more.", id)
	}
	return Answer{Text: text, IsError: true, Err: err}
}

// pids lists processes, within bounds.
func pids(ps []shared.Process) string {
	const most = 50
	var numbers []string
	for _, p := range ps[:min(most, len(ps))] {
		numbers = append(numbers, strconv.Itoa(p.PID))
	}
	if more := len(ps) - most; more > 0 {
		numbers = append(numbers, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(numbers, ", ")
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
