package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bashplugin/shared"
)

// bashDefaultTimeout is the bash_id dialect's timeout for a command that is
// waited for.
const bashDefaultTimeout = 30 * time.Second

// bashID is the bash_id dialect: three tools. A command that takes too long is
// killed, which is an error; one that fails is none. Output is read once.
type bashID struct {
	bash  shared.Bash
	dir   string
	tasks tasks
}

func newBashID(bash shared.Bash, opts Options) []tool {
	d := &bashID{bash: bash, dir: opts.Dir, tasks: tasks{bash: bash, newID: newBashName}}
	return []tool{
		{
			Definition: Definition{
				Name: "bash",
				Description: "Execute bash commands. Returns the output and exit code of a foreground command, which is killed at its timeout (default: 30 seconds), " +
					"and the bash_id of a background command, for bash_output and kill_bash. Background commands are killed when the session ends. " +
					"Of long output the end is returned, and the path of a file that has all of it. " + freshShell,
				Hints: Hints{Destructive: true, OpenWorld: true},
			},
			parameters: parameters{
				{name: "command", kind: stringKind, text: validCommand, required: true, description: "The bash command to execute"},
				{name: "timeout", kind: integerKind, max: maxTimeout, description: "Timeout in milliseconds (default: 30000; in background: none)"},
				{name: "run_in_background", kind: booleanKind, description: "Run the command in the background and return its bash_id at once"},
			},
			call: d.run,
		},
		{
			Definition: Definition{
				Name:        "bash_output",
				Description: "Read output from a background process. Returns the new output since the last check, the status (running/completed/failed/killed) and, once it has ended, the exit code.",
				Hints:       Hints{}, // what was read is not new any more
			},
			parameters: parameters{{name: "bash_id", kind: stringKind, required: true, description: "The bash_id that bash returned"}},
			call:       d.output,
		},
		{
			Definition: Definition{
				Name:        "kill_bash",
				Description: "Terminate a background process gracefully. Returns its output since the last check. A process that has already ended is no error.",
				Hints:       Hints{Destructive: true, Idempotent: true},
			},
			parameters: parameters{{name: "bash_id", kind: stringKind, required: true, description: "The bash_id that bash returned"}},
			call:       d.kill,
		},
	}
}

func newBashName() string {
	return fmt.Sprintf("bash_%d_%s", time.Now().UnixMilli(), strings.ToLower(rand.Text()[:9]))
}

func (d *bashID) run(ctx context.Context, args arguments, live io.Writer) Answer {
	req := shared.ExecuteRequest{
		Command: args.text("command"),
		Mode:    shared.ModeTerminate,
		Timeout: timeout(args, bashDefaultTimeout),
		Dir:     d.dir,
		Stdout:  live,
		Stderr:  live,
	}
	if args.flag("run_in_background") {
		req.Mode, req.Timeout = shared.ModeBackground, timeout(args, 0)
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.tasks.addJob(r, req.Mode)
	if r.Status == shared.StatusRunning || req.Mode == shared.ModeBackground && id != "" {
		text := state(id, r, streams(r)) + "\n\nUse bash_output with this bash_id to read its output, kill_bash to terminate it."
		stuck := req.Mode != shared.ModeBackground
		if stuck {
			text = "[Command was sent SIGKILL, but " + unstoppable + ".]\n\n" + text
		}
		return Answer{Text: text, IsError: stuck, Result: r, ID: id}
	}
	manage := fmt.Sprintf("Use bash_output or kill_bash with bash_id %s.", id)
	return Answer{Text: account(r, req.Timeout, manage), IsError: r.Status == shared.StatusKilled, Result: r, ID: id}
}

func (d *bashID) output(ctx context.Context, args arguments, _ io.Writer) Answer {
	id := args.text("bash_id")
	r, err := d.tasks.check(ctx, id, shared.CheckRequest{})
	if err != nil {
		return d.failed(id, err)
	}
	return Answer{Text: state(id, r, orElse(streams(r), "(no new output)\n")), Result: r, ID: id}
}

func (d *bashID) kill(ctx context.Context, args arguments, _ io.Writer) Answer {
	id := args.text("bash_id")
	seen, err := d.tasks.check(ctx, id, shared.CheckRequest{})
	switch {
	case errors.Is(err, shared.ErrNotFound) && d.tasks.find(id).id != "":
		return Answer{Text: fmt.Sprintf("Process %s is not running any more.", id), ID: id}
	case err != nil:
		return d.failed(id, err)
	case over(seen):
		text := fmt.Sprintf("Process %s had already ended.\n", id) + state(id, seen, streams(seen))
		return Answer{Text: text, Result: seen, ID: id}
	}
	var final *shared.Result
	whole, err := d.tasks.check(ctx, id, shared.CheckRequest{All: true})
	if err == nil {
		final, err = d.tasks.kill(ctx, id, shared.Limits{})
	}
	if errors.Is(err, shared.ErrNotFound) { // another call was faster
		return Answer{Text: fmt.Sprintf("Process %s is not running any more.", id), ID: id}
	}
	if err != nil {
		return d.failed(id, err)
	}
	r := *final
	r.Stdout = since(seen.Stdout, whole.Stdout, final.Stdout)
	r.Stderr = since(seen.Stderr, whole.Stderr, final.Stderr)
	text := fmt.Sprintf("Process %s terminated.\n", id)
	if over(final) {
		d.tasks.remember(id, withoutOutput(r))
	} else {
		text = fmt.Sprintf("Process %s was sent SIGKILL, but %s.\n", id, unstoppable)
	}
	return Answer{Text: text + state(id, &r, streams(&r)), IsError: !over(final), Result: &r, ID: id}
}

// state is the text about a background process: how it is doing, and body.
func state(id string, r *shared.Result, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bash_id: %s\nstatus: %s\n", id, r.Status)
	if r.Status != shared.StatusRunning {
		fmt.Fprintf(&b, "exit code: %s\n", exitCode(r))
	}
	if why := killed(r, 0); why != "" && r.Cause != shared.CauseKill {
		b.WriteString(why + "\n")
	}
	if len(r.Leftover) > 0 {
		fmt.Fprintf(&b, "still running: %s\n", leftover(r.Leftover))
	}
	if body != "" {
		b.WriteString("\n" + strings.TrimSuffix(body, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n") + omissions(r)
}

// since is what a final account of a stream shows of what had not been seen
// before seen. That may begin within a line, as the whole account had it: if that
// was rewritten, all of it is new.
func since(seen, whole, final shared.Output) shared.Output {
	begin := final.TotalBytes - int64(len(final.Content))
	from := seen.TotalBytes - int64(len(seen.Content))
	if at := int(from - whole.TotalBytes + int64(len(whole.Content))); at >= 0 && at <= len(whole.Content) {
		line := whole.Content[strings.LastIndexByte(whole.Content[:at], '\n')+1 : at]
		if first := from - int64(len(line)) - begin; first >= 0 && !strings.HasPrefix(final.Content[min(int(first), len(final.Content)):], line) {
			from -= int64(len(line))
		}
	}
	if from < begin {
		return final
	}
	out := final
	out.Content = strings.ToValidUTF8(final.Content[min(int(from-begin), len(final.Content)):], "")
	out.Truncated, out.TruncatedBy, out.LastLinePartial = seen.Truncated, seen.TruncatedBy, seen.LastLinePartial
	out.OutputBytes, out.OutputLines = len(out.Content), strings.Count(out.Content, "\n")
	if out.Content != "" && !strings.HasSuffix(out.Content, "\n") {
		out.OutputLines++
	}
	return out
}

// withoutOutput is an account that shows nothing again.
func withoutOutput(r shared.Result) *shared.Result {
	r.Stdout, r.Stderr = quiet(r.Stdout), quiet(r.Stderr)
	return &r
}

func quiet(o shared.Output) shared.Output {
	return shared.Output{TotalLines: o.TotalLines, TotalBytes: o.TotalBytes, Path: o.Path, PathError: o.PathError}
}

func (d *bashID) failed(id string, err error) Answer {
	var known *shared.Error
	switch {
	case !errors.As(err, &known):
		return failed("no result", err)
	case known.Code != shared.CodeNotFound || errors.Is(err, shared.ErrCrashed):
		return failed(string(known.Code), err)
	}
	text := fmt.Sprintf("%s: there is no background process with the bash_id %s. %s", known.Code, quote(id), d.tasks.known())
	if d.tasks.find(id).id != "" {
		text = fmt.Sprintf("%s: the background process %s has ended and its output is not kept any more.", known.Code, id)
	}
	return Answer{Text: text, IsError: true, Err: err}
}
