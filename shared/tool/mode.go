package tool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"bashplugin/shared"
)

// Mode has bash with a mode (default, slow, background); merged output, cut in the middle.
const Mode Dialect = "mode"

const modeDescription = `Executes shell commands via bash -c, returning combined stdout/stderr.
Bash state changes (working dir, variables, aliases) don't persist between calls.

With mode="background", returns immediately with output redirected to a file.
Use background for servers/demos that need to stay running.

Use mode="slow" for potentially slow commands: builds, downloads,
installs, tests, or any other substantive operation.

IMPORTANT: Keep commands concise. The command input must be less than 60k tokens.
For complex scripts, write them to a file first and then execute the file.`

func modeDialect() dialect {
	return dialect{
		name:  Mode,
		tools: newMode,
		defaults: Options{
			Timeout: 30 * time.Second,
			Limits:  shared.Limits{MaxLines: -1, MaxBytes: 128 << 10, Ends: 4 << 10, Notable: 10},
		},
		instructions: "Start what does not end by itself with mode background, " +
			"and read the log that the answer names with further commands.",
	}
}

// The timeouts of two modes. The default mode has Options.Timeout.
const (
	slowModeTimeout       = 15 * time.Minute
	backgroundModeTimeout = 24 * time.Hour
)

// maxMetadata is the most bytes that an answer has besides the output.
const maxMetadata = 200

// mode is the mode dialect: one tool, which kills commands that take too long. The
// model reaches a background command through its log and its pid, with bash itself.
type mode struct {
	bash    shared.Bash
	opts    Options
	endings *endings
}

func newMode(bash shared.Bash, opts Options) *Toolset {
	d := mode{bash, opts, newEndings(bash)}
	description := modeDescription
	if opts.Dir != "" {
		description += "\n\n<pwd>" + opts.Dir + "</pwd>"
	}
	return &Toolset{
		tools: []tool{define(opts, "bash", description, runHints, d.run)},
		close: d.endings.close,
	}
}

type modeArgs struct {
	Command command `json:"command" jsonschema:"Shell command to execute via bash -c"`
	Mode    string  `json:"mode,omitempty" enum:"default|slow|background" jsonschema:"Execution mode: default ({timeout_s}s timeout), slow (15min timeout), background (detached)"`
}

func (d mode) run(ctx context.Context, args modeArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Mode = shared.ModeTerminate
	req.Timeout = d.opts.Timeout
	req.Merge = true
	switch args.Mode {
	case "slow":
		req.Timeout = slowModeTimeout
	case "background":
		req.Mode = shared.ModeBackground
		req.Timeout = backgroundModeTimeout
	}
	r, err := d.bash.Execute(ctx, req)
	switch {
	case err != nil:
		return Answer{Text: bracket("no result: " + err.Error()), IsError: true, Err: err}
	case req.Mode == shared.ModeBackground && r.PID != 0:
		d.endings.follow(r, "24 hours")
		return Answer{Text: detached(r), Result: r}
	case r.Status == shared.StatusRunning && letRun(ctx):
		d.endings.follow(r, seconds(req.Timeout))
		return Answer{Text: bracket(goesOn(req.Timeout)) + "\n" + detached(r), Result: r}
	}
	return Answer{Text: combined(r, req.Timeout), IsError: r.Status != shared.StatusCompleted, Result: r}
}

// detached is the text about a background command: how to read and stop it.
func detached(r *shared.Result) string {
	file := cmp.Or(r.Stdout.Path, "none: "+r.Stdout.PathError)
	return strings.Join([]string{
		fmt.Sprintf("<pid>%d</pid>", r.PID),
		fmt.Sprintf("<output_file>%s</output_file>", file),
		fmt.Sprintf("<reminder>To stop: kill -9 -%d</reminder>", r.PID),
	}, "\n")
}

// combined is the text about a command in the foreground. It has at most
// maxMetadata bytes more than the limit on output.
func combined(r *shared.Result, timeout time.Duration) string {
	head := verdict(r, timeout)
	text := middle(r, r.Stdout)
	switch {
	case head == "" && text == "":
		text = "[no output]"
	case head != "" && text != "":
		head += "\n"
	}
	if len(r.Leftover) == 0 {
		return head + text
	}
	return endLine(head+text) + remaining(r, maxMetadata-len(head)-1)
}

// verdict says why a command did not complete; "" if it did.
func verdict(r *shared.Result, timeout time.Duration) string {
	switch {
	case r.Status == shared.StatusFailed:
		return fmt.Sprintf("[command failed: exit code %s]", exitCode(r))
	case r.Status == shared.StatusRunning:
		return fmt.Sprintf("[command was sent SIGKILL, but %s: pid %d]", unstoppable, r.PID)
	case r.Status != shared.StatusKilled:
		return ""
	case r.Cause == shared.CauseTimeout:
		return "[command timed out after " + seconds(timeout) + "]"
	}
	return "[command " + killed(r, timeout) + "]"
}

// middle shows the output, without its middle if the limits cut that out.
func middle(r *shared.Result, o shared.Output) string {
	if !o.Truncated {
		return shown(r, o)
	}
	where := strings.TrimSuffix(fullOutput(o), ".")
	if o.Path != "" && o.PathError == "" {
		where = "all of it: " + o.Path
	}
	head := fmt.Sprintf("output truncated in middle: got %s, showing %d; %s",
		count(int(o.TotalBytes), "byte"), o.OutputBytes, where)
	snip := fmt.Sprintf("snip: %s, %s",
		count(int(o.TotalBytes)-o.OutputBytes, "byte"),
		count(max(0, int(o.TotalLines)-o.OutputLines), "line"))
	return bracket(head) + "\n" + shownAround(r, o, bracket(snip)+"\n")
}

// remaining says, in at most room bytes, how to reach the processes that the command
// left running: by its log, if there is room for the path, and by some pids.
func remaining(r *shared.Result, room int) string {
	stop := "; to stop: kill -9 " + pids(r, 5, " ")
	text := bracket("still running, output in " + r.Stdout.Path + stop)
	if r.Stdout.Path == "" || len(text) > room {
		return bracket("still running" + stop)
	}
	return text
}
