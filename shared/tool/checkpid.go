package tool

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bashplugin/shared"
)

// CheckPID has bash with check_pid and kill_pid; a command that takes too long goes on in the
// background.
const CheckPID Dialect = "check-pid"

const checkPIDDescription = "Execute a bash command. " +
	"Long output is truncated to its end; if truncated, full output saved to temp file. " +
	"Commands exceeding timeout are auto-backgrounded. " + freshShell

func checkPIDDialect() dialect {
	return dialect{
		name:  CheckPID,
		tools: newCheckPID,
		defaults: Options{
			Timeout: shared.DefaultTimeout,
			Limits:  shared.Limits{Notable: 10},
		},
		instructions: "A command that takes longer than its timeout goes on in the background: " +
			"{bash} with check_pid shows its output, with kill_pid it ends it.",
	}
}

// checkPID is the check_pid dialect: one tool, which also checks and kills the
// commands that went on in the background. It has no state: it passes the pids
// on to the Bash.
type checkPID struct {
	bash shared.Bash
	opts Options
}

func newCheckPID(bash shared.Bash, opts Options) *Toolset {
	d := checkPID{bash, opts}
	return &Toolset{tools: []tool{
		define(opts, "bash", checkPIDDescription, runHints, d.call),
	}}
}

type checkPIDArgs struct {
	Command  command      `json:"command,omitempty" jsonschema:"The bash command to execute"`
	Timeout  milliseconds `json:"timeout,omitempty" jsonschema:"Timeout in ms before auto-backgrounding (default: {timeout_ms}{call_limit})"`
	CheckPID processID    `json:"check_pid,omitempty" jsonschema:"Check on a backgrounded process, return new output"`
	KillPID  processID    `json:"kill_pid,omitempty" jsonschema:"Kill a backgrounded process, return final output"`
}

func (a checkPIDArgs) check(given arguments) error {
	actions := 0
	for _, name := range []string{"command", "check_pid", "kill_pid"} {
		if given[name] != nil {
			actions++
		}
	}
	switch {
	case actions == 0:
		return errors.New("one of command, check_pid, or kill_pid is required")
	case actions > 1:
		return errors.New("command, check_pid and kill_pid exclude each other: give one of them")
	case given["timeout"] != nil && given["command"] == nil:
		return errors.New("timeout goes with command only: leave it out")
	}
	return nil
}

func (d checkPID) call(ctx context.Context, args checkPIDArgs, live io.Writer) Answer {
	switch {
	case args.CheckPID != 0:
		return d.look(ctx, int(args.CheckPID))
	case args.KillPID != 0:
		return d.kill(ctx, int(args.KillPID))
	}
	return d.run(ctx, args, live)
}

func (d checkPID) run(ctx context.Context, args checkPIDArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Timeout = args.Timeout.or(d.opts.Timeout)
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return failed("no result", err)
	}
	if r.Status == shared.StatusRunning {
		head := fmt.Sprintf("Command backgrounded after %s (pid %d).", seconds(req.Timeout), r.PID)
		if letRun(ctx) {
			head = fmt.Sprintf("Command backgrounded (pid %d). This call waits no longer; the command goes on.", r.PID)
		}
		lines := append(logs(r), "Use check_pid or kill_pid to manage.")
		text := beforeCut(r) + block(head, headed(r, "stdout", "stderr", false), lines...)
		return Answer{Text: text, Result: r}
	}
	manage := fmt.Sprintf("Use check_pid or kill_pid with %d to manage.", r.PID)
	text := account(r, req.Timeout, manage)
	if r.Cause == shared.CauseCancel {
		text += "\n" + bracket(context.Canceled.Error())
	}
	return Answer{Text: text, IsError: r.Status != shared.StatusCompleted, Result: r}
}

// look executes check_pid.
func (d checkPID) look(ctx context.Context, pid int) Answer {
	r, err := d.bash.Check(ctx, shared.CheckRequest{PID: pid, Limits: d.opts.Limits})
	if err != nil {
		return d.failed("check", pid, err)
	}
	if over(r) {
		// The last account has all the output, however often the model asks for it.
		all, gone := d.bash.Check(ctx, shared.CheckRequest{PID: r.PID, All: true, Limits: d.opts.Limits})
		if gone == nil && all.Started.Equal(r.Started) {
			r = all
		}
	}
	if r.Status == shared.StatusRunning {
		head := fmt.Sprintf("Process %d still running.", r.PID)
		fresh := news(r)
		if fresh == "" {
			head += " No new output since last check."
		}
		return Answer{Text: d.final(pid, head, fresh, r), Result: r}
	}
	head := fmt.Sprintf("Process %d exited with code %s.", r.PID, exitCode(r))
	output := headed(r, "stdout", "stderr", false)
	if !over(r) {
		output = news(r)
	}
	return Answer{Text: d.final(pid, head, output, r), IsError: r.Status != shared.StatusCompleted, Result: r}
}

// news shows the output since the last answer.
func news(r *shared.Result) string {
	return headed(r, "New output since last check", "New stderr since last check", true)
}

func (d checkPID) kill(ctx context.Context, pid int) Answer {
	r, err := d.bash.Kill(ctx, shared.KillRequest{PID: pid, Limits: d.opts.Limits})
	if err != nil {
		return d.failed("kill", pid, err)
	}
	head := fmt.Sprintf("Process %d killed.", r.PID)
	switch {
	case !over(r):
		head = fmt.Sprintf("Process %d was sent SIGKILL, but %s.", r.PID, unstoppable)
	case r.Status != shared.StatusKilled:
		head = fmt.Sprintf("Process %d had exited with code %s; nothing that it started is running any more.",
			r.PID, exitCode(r))
	}
	text := d.final(pid, head, headed(r, "stdout", "stderr", false), r)
	return Answer{Text: text, IsError: !over(r), Result: r}
}

// final is the text about a job. pid may be that of any of its processes.
func (checkPID) final(pid int, head, output string, r *shared.Result) string {
	sentences := []string{head, unasked(r)}
	if pid != r.PID {
		belongs := fmt.Sprintf("%d belongs to the command with pid %d; a kill ends all of it.", pid, r.PID)
		sentences = append([]string{belongs}, sentences...)
	}
	if ended := endedToo(r); ended != "" {
		sentences = append(sentences, ended+".")
	}
	if len(r.Leftover) > 0 {
		sentences = append(sentences, "Still running: "+listed(r.Leftover)+".")
	}
	return beforeCut(r) + block(join(" ", sentences...), output, logs(r)...)
}

func (checkPID) failed(what string, pid int, err error) Answer {
	if isForgotten(err) {
		return failed("no background process", err) // it lists the jobs
	}
	return failed(fmt.Sprintf("cannot %s process %d", what, pid), err)
}
