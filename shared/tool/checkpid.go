package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

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
		define(opts, "bash", checkPIDDescription, Hints{Destructive: true, OpenWorld: true}, d.call),
	}}
}

type checkPIDArgs struct {
	Command  string  `json:"command,omitempty" jsonschema:"The bash command to execute"`
	Timeout  integer `json:"timeout,omitempty" jsonschema:"Timeout in ms before auto-backgrounding (default: {timeout_ms}{call_limit})"`
	CheckPID integer `json:"check_pid,omitempty" jsonschema:"Check on a backgrounded process, return new output"`
	KillPID  integer `json:"kill_pid,omitempty" jsonschema:"Kill a backgrounded process, return final output"`
}

func (a checkPIDArgs) check(opts Options, given map[string]bool) error {
	actions := slices.DeleteFunc([]string{"command", "check_pid", "kill_pid"}, func(name string) bool { return !given[name] })
	switch {
	case len(actions) == 0:
		return errors.New("one of command, check_pid, or kill_pid is required")
	case len(actions) > 1:
		return errors.New("command, check_pid and kill_pid exclude each other: give one of them")
	case given["command"]:
		return cmp.Or(checkCommand(a.Command), checkTime(opts, "timeout", a.Timeout, time.Millisecond))
	case given["timeout"]:
		return errors.New("timeout goes with command only: leave it out")
	case given["check_pid"]:
		return checkRange("check_pid", a.CheckPID, 1, math.MaxInt32)
	}
	return checkRange("kill_pid", a.KillPID, 1, math.MaxInt32)
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
	req.Timeout = times(args.Timeout, time.Millisecond, d.opts.Timeout)
	r, err := d.bash.Execute(ctx, req)
	switch {
	case err != nil:
		return failed("no result", err)
	case r.Status == shared.StatusRunning:
		head := fmt.Sprintf("Command backgrounded after %s (pid %d).", seconds(req.Timeout), r.PID)
		if letRun(ctx) {
			head = fmt.Sprintf("Command backgrounded (pid %d). This call waits no longer; the command goes on.", r.PID)
		}
		lines := append(logs(r), "Use check_pid or kill_pid to manage.")
		return Answer{Text: bracket(head, headed(r, "stdout", "stderr", false), lines...) + omissions(r), Result: r}
	}
	manage := fmt.Sprintf("Use check_pid or kill_pid with %d to manage.", r.PID)
	return Answer{Text: account(r, req.Timeout, manage), IsError: r.Status != shared.StatusCompleted, Result: r}
}

// look executes check_pid.
func (d checkPID) look(ctx context.Context, pid int) Answer {
	r, err := d.bash.Check(ctx, shared.CheckRequest{PID: pid, Limits: d.opts.Limits})
	if err == nil && over(r) {
		// The last account has all the output, however often the model asks for it.
		all, gone := d.bash.Check(ctx, shared.CheckRequest{PID: r.PID, All: true, Limits: d.opts.Limits})
		if gone == nil && all.Started.Equal(r.Started) {
			r = all
		}
	}
	switch {
	case err != nil:
		return d.failed("check", pid, err)
	case r.Status == shared.StatusRunning:
		head, fresh := fmt.Sprintf("Process %d still running.", r.PID), news(r)
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
		head = fmt.Sprintf("Process %d had exited with code %s; nothing that it started is running any more.", r.PID, exitCode(r))
	}
	return Answer{Text: d.final(pid, head, headed(r, "stdout", "stderr", false), r), IsError: !over(r), Result: r}
}

// final is the text about a job. pid may be that of any of its processes.
func (checkPID) final(pid int, head, output string, r *shared.Result) string {
	head = strings.TrimSpace(head + " " + strings.TrimSpace(unasked(r)+" "+endedToo(r)))
	if pid != r.PID {
		head = fmt.Sprintf("%d belongs to the command with pid %d; a kill ends all of it. ", pid, r.PID) + head
	}
	if len(r.Leftover) > 0 {
		head += " Still running: " + listed(r.Leftover) + "."
	}
	return bracket(head, output, logs(r)...) + omissions(r)
}

func (checkPID) failed(what string, pid int, err error) Answer {
	if isForgotten(err) {
		return failed("no background process", err) // it lists the jobs
	}
	return failed(fmt.Sprintf("cannot %s process %d", what, pid), err)
}
