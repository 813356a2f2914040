package tool

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"bashplugin/shared"
)

// The modes' timeouts.
const (
	defaultModeTimeout    = 30 * time.Second
	slowModeTimeout       = 15 * time.Minute
	backgroundModeTimeout = 24 * time.Hour
)

// modeLimits cut the merged output in the middle.
var modeLimits = shared.Limits{MaxLines: -1, MaxBytes: 128 << 10, Ends: 4 << 10}

// maxMetadata is how many bytes an answer has at most besides the output.
const maxMetadata = 200

// mode is the mode dialect: one tool, which kills what takes too long. A
// background command is reached through its log and its pid, with bash itself.
type mode struct {
	bash    shared.Bash
	dir     string
	endings *endings
}

func newMode(bash shared.Bash, opts Options, endings *endings) []tool {
	d := mode{bash, opts.Dir, endings}
	description := modeDescription
	if d.dir != "" {
		description += "\n\n<pwd>" + d.dir + "</pwd>"
	}
	return []tool{{
		Definition: Definition{Name: "bash", Description: description, Hints: Hints{Destructive: true, OpenWorld: true}},
		parameters: parameters{
			{name: "command", kind: stringKind, text: validCommand, required: true, description: "Shell command to execute via bash -c"},
			{name: "mode", kind: stringKind, enum: []string{"default", "slow", "background"},
				description: "Execution mode: default (30s timeout), slow (15min timeout), background (detached)"},
		},
		call: d.call,
	}}
}

func (d mode) call(ctx context.Context, args arguments, live io.Writer) Answer {
	req := shared.ExecuteRequest{
		Command: args.text("command"),
		Mode:    shared.ModeTerminate,
		Timeout: defaultModeTimeout,
		Dir:     d.dir,
		Merge:   true,
		Limits:  modeLimits,
		Stdout:  live,
		Stderr:  live,
	}
	switch args.text("mode") {
	case "slow":
		req.Timeout = slowModeTimeout
	case "background":
		req.Mode, req.Timeout = shared.ModeBackground, backgroundModeTimeout
	}
	r, err := d.bash.Execute(ctx, req)
	switch {
	case err != nil:
		return Answer{Text: "[no result: " + err.Error() + "]", IsError: true, Err: err}
	case req.Mode == shared.ModeBackground && r.PID != 0:
		d.endings.follow(r)
		return Answer{Text: detached(r), Result: r}
	}
	return Answer{Text: combined(r, req.Timeout), IsError: r.Status != shared.StatusCompleted, Result: r}
}

// detached tells how to reach a background command.
func detached(r *shared.Result) string {
	file := r.Stdout.Path
	if file == "" {
		file = "none: " + r.Stdout.PathError
	}
	return fmt.Sprintf("<pid>%d</pid>\n<output_file>%s</output_file>\n<reminder>To stop: kill -9 -%d</reminder>", r.PID, file, r.PID)
}

// combined is the text of a command that was waited for. It has at most
// maxMetadata bytes more than the limit on output.
func combined(r *shared.Result, timeout time.Duration) string {
	head, text := verdict(r, timeout), middle(r.Stdout)
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

// verdict says what went wrong; "" where nothing did.
func verdict(r *shared.Result, timeout time.Duration) string {
	switch {
	case r.Status == shared.StatusFailed:
		return fmt.Sprintf("[command failed: exit code %s]", exitCode(r))
	case r.Status == shared.StatusRunning:
		return fmt.Sprintf("[command was sent SIGKILL, but %s: pid %d]", unstoppable, r.PID)
	case r.Status != shared.StatusKilled:
		return ""
	case r.PID == 0:
		return "[command cancelled before it was started: nothing was run]"
	case r.Cause == shared.CauseTimeout:
		return "[command timed out after " + seconds(timeout) + "]"
	case r.Cause == shared.CauseCancel:
		return "[command cancelled and killed]"
	case r.Cause == shared.CauseClose:
		return "[command killed: the session was closed]"
	}
	return "[command killed]"
}

// middle shows output of which the limits may have left out the middle.
func middle(o shared.Output) string {
	if !o.Truncated {
		return o.Content
	}
	return fmt.Sprintf("[output truncated in middle: got %s, max is %s]\n%s\n\n[snip]\n\n%s[%s]",
		size(o.TotalBytes), size(int64(modeLimits.MaxBytes)), o.Head, endLine(o.Content), fullOutput(o))
}

// remaining tells of what the command left running in at most room bytes: where
// the output is and a few pids or, where there is less room, some of that.
func remaining(r *shared.Result, room int) string {
	if text := fmt.Sprintf("[still running, output in %s; %s]", r.Stdout.Path, stop(r.Leftover, 10)); r.Stdout.Path != "" && len(text) <= room {
		return text
	}
	for most := 10; ; most-- {
		if text := fmt.Sprintf("[still running; %s]", stop(r.Leftover, most)); len(text) <= room || most == 1 {
			return text
		}
	}
}

// stop is the command that ends processes, of which it names some.
func stop(processes []shared.Process, most int) string {
	var b strings.Builder
	b.WriteString("to stop: kill -9")
	for _, p := range processes[:min(most, len(processes))] {
		fmt.Fprintf(&b, " %d", p.PID)
	}
	if more := len(processes) - most; more > 0 {
		fmt.Fprintf(&b, " (and %d more)", more)
	}
	return b.String()
}
