package tool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"bashplugin/shared"
)

// claude is the dialect with the names and the result shapes of Claude Code's shell
// tools. A command that takes long goes on in the background, and one that fails is an
// error. Its BashOutput can wait, too.
type claude struct{ tasks }

func newClaude(bash shared.Bash, opts Options) *Toolset {
	d := &claude{tasks{bash: bash, opts: opts, prefix: "bash_", noun: "background shell"}}
	return &Toolset{tools: []tool{
		define(opts, "Bash", claudeDescription, Hints{Destructive: true, OpenWorld: true}, d.run),
		define(opts, "BashOutput", claudeOutputDescription, Hints{ReadOnly: true}, d.output),
		define(opts, "KillShell", claudeKillDescription, Hints{Destructive: true, Idempotent: true}, d.kill),
	}}
}

type claudeArgs struct {
	Command     string  `json:"command" jsonschema:"The command to run"`
	Timeout     integer `json:"timeout,omitempty" jsonschema:"Milliseconds until the command moves to the background (default {timeout_ms}, at most {max_ms}{call_limit})"`
	Description string  `json:"description,omitempty" jsonschema:"What the command does, in 5 to 10 words"`
	Background  flag    `json:"run_in_background,omitempty" jsonschema:"Run it in the background at once"`
}

func (a claudeArgs) check(opts Options, _ map[string]bool) error {
	return cmp.Or(checkCommand(a.Command), checkTime(opts, "timeout", a.Timeout, time.Millisecond))
}

type claudeOutputArgs struct {
	ID      string  `json:"bash_id" jsonschema:"The ID of the background shell"`
	Filter  string  `json:"filter,omitempty" jsonschema:"Regular expression: show only the lines that match; the others are not shown later either"`
	Wait    integer `json:"wait,omitempty" jsonschema:"Milliseconds to wait at most, for the end or for wait_for (default 0, with wait_for 60000; at most {max_ms}{call_limit})"`
	WaitFor string  `json:"wait_for,omitempty" jsonschema:"Regular expression: return as soon as new output matches"`
}

func (a claudeOutputArgs) check(opts Options, _ map[string]bool) error {
	return cmp.Or(checkTime(opts, "wait", a.Wait, time.Millisecond), checkPattern("wait_for", a.WaitFor), checkPattern("filter", a.Filter))
}

type claudeKillArgs struct {
	ID string `json:"shell_id" jsonschema:"The ID of the background shell"`
}

func (d *claude) run(ctx context.Context, args claudeArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Timeout = times(args.Timeout, time.Millisecond, d.opts.Timeout)
	if args.Background {
		req.Mode, req.Timeout = shared.ModeBackground, 0
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.addJob(r, req.Mode)
	var lines []string
	if r.Status != shared.StatusRunning && r.Status != shared.StatusCompleted {
		lines = append(lines, "Exit code "+exitCode(r))
	}
	if why := killed(r, req.Timeout); why != "" {
		lines = append(lines, "Command "+why)
	}
	if id != "" {
		what := "goes on in the background"
		if r.Status != shared.StatusRunning {
			what = outcomeOf(r)
		}
		lines = append(lines, "The command "+what+". ID: "+id, d.opts.fill("{BashOutput} waits and reads its output, {KillShell} ends it."))
	}
	for _, o := range []shared.Output{r.Stdout, r.Stderr} {
		if text := strings.TrimSuffix(shown(r, o), "\n"); text != "" {
			lines = append(lines, text)
		}
	}
	text := cmp.Or(strings.Join(lines, "\n"), "(no output)") + omissions(r)
	return Answer{Text: text, IsError: r.Status != shared.StatusRunning && r.Status != shared.StatusCompleted, Result: r, ID: id}
}

func (d *claude) output(ctx context.Context, args claudeOutputArgs, _ io.Writer) Answer {
	r, said, err := d.await(ctx, args.ID, shared.CheckRequest{Wait: times(args.Wait, time.Millisecond, 0), WaitFor: args.WaitFor})
	if err != nil {
		return d.failed(args.ID, err)
	}
	text := "<status>" + string(r.Status) + "</status>"
	if r.Status != shared.StatusRunning {
		text += fmt.Sprintf("\n\n<exit_code>%d</exit_code>", r.ExitCode)
	}
	if len(r.Leftover) > 0 {
		text += "\n\nStill running: " + listed(r.Leftover) + "."
	}
	text += tagged("stdout", r, r.Stdout, args.Filter) + tagged("stderr", r, r.Stderr, args.Filter)
	return Answer{Text: text + omissions(r) + strings.Replace(said, "; ", "\n\nNote: ", 1), Result: r, ID: args.ID}
}

// tagged shows the lines of a stream that match.
func tagged(tag string, r *shared.Result, o shared.Output, filter string) string {
	re := regexp.MustCompile(filter) // checkPattern was here
	first, _, _ := strings.Cut(o.Content, "\n")
	o.StartsMidLine = o.StartsMidLine && re.MatchString(first)
	o.Head, o.Content = matching(re, o.Head), matching(re, o.Content)
	o.Partial = o.Partial && !strings.HasSuffix(o.Content, "\n")
	if text := shown(r, o); text != "" {
		return fmt.Sprintf("\n\n<%s>\n%s</%[1]s>", tag, endLine(text))
	}
	return ""
}

// matching returns the lines of a text that match.
func matching(re *regexp.Regexp, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if re.MatchString(strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (d *claude) kill(ctx context.Context, args claudeKillArgs, _ io.Writer) Answer {
	r, said, err := d.tasks.kill(ctx, "Shell "+args.ID, args.ID)
	if err != nil {
		return d.failed(args.ID, err)
	}
	text := string(plainJSON(map[string]string{"message": said, "shell_id": args.ID})) + tagged("stdout", r, r.Stdout, "") + tagged("stderr", r, r.Stderr, "") + omissions(r)
	return Answer{Text: text, IsError: !over(r), Result: r, ID: args.ID}
}
