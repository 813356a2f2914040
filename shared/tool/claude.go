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

// Claude has Bash, BashOutput and KillShell, as in Claude Code.
const Claude Dialect = "claude"

const claudeDescription = "Run a bash command. At its timeout it is not killed but moves to the background, " +
	"with an ID for {BashOutput} and {KillShell}. " +
	"Of long output you get the end, and the path of a file with everything. " +
	"Background commands end with the session. " + freshShell

const claudeOutputDescription = "Read the new output of a background shell, with its status " +
	"(running, completed, failed, killed) and exit code. " +
	"It can wait for the end, or for output that matches wait_for: that saves polling."

const claudeKillDescription = "End a background shell and every process that it started."

func claudeDialect() dialect {
	return dialect{
		name:  Claude,
		tools: newClaude,
		defaults: Options{
			Timeout:    2 * time.Minute,
			MaxTimeout: 10 * time.Minute,
			Limits:     shared.Limits{MaxLines: -1, MaxBytes: 30000, Notable: 10},
		},
		instructions: "Start what does not end by itself with run_in_background: " +
			"{BashOutput} shows its output and can wait for a line of it, {KillShell} ends it.",
	}
}

// claude is the dialect with the names and the result shapes of Claude Code's shell
// tools. A command that takes long goes on in the background, and one that fails is an
// error. Its BashOutput can wait, too.
type claude struct{ tasks }

func newClaude(bash shared.Bash, opts Options) *Toolset {
	d := &claude{tasks{bash: bash, opts: opts, prefix: "bash_", noun: "background shell"}}
	return &Toolset{tools: []tool{
		define(opts, "Bash", claudeDescription, runHints, d.run),
		define(opts, "BashOutput", claudeOutputDescription, showHints, d.output),
		define(opts, "KillShell", claudeKillDescription, endHints, d.kill),
	}}
}

type claudeArgs struct {
	Command     command      `json:"command" jsonschema:"The command to run"`
	Timeout     milliseconds `json:"timeout,omitempty" jsonschema:"Milliseconds until the command moves to the background (default {timeout_ms}, at most {max_ms}{call_limit})"`
	Description string       `json:"description,omitempty" jsonschema:"What the command does, in 5 to 10 words"`
	Background  flag         `json:"run_in_background,omitempty" jsonschema:"Run it in the background at once"`
}

type claudeOutputArgs struct {
	ID      jobID        `json:"bash_id" jsonschema:"The ID of the background shell"`
	Filter  pattern      `json:"filter,omitempty" jsonschema:"Regular expression: show only the lines that match; the others are not shown later either"`
	Wait    milliseconds `json:"wait,omitempty" jsonschema:"Milliseconds to wait at most, for the end or for wait_for (default 0, with wait_for 60000; at most {max_ms}{call_limit})"`
	WaitFor pattern      `json:"wait_for,omitempty" jsonschema:"Regular expression: return as soon as new output matches"`
}

type claudeKillArgs struct {
	ID jobID `json:"shell_id" jsonschema:"The ID of the background shell"`
}

func (d *claude) run(ctx context.Context, args claudeArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Timeout = args.Timeout.or(d.opts.Timeout)
	if args.Background {
		req.Mode = shared.ModeBackground
		req.Timeout = 0
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.addJob(r, req.Mode)
	hasFailed := r.Status != shared.StatusRunning && r.Status != shared.StatusCompleted
	var lines []string
	if hasFailed {
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
		lines = append(lines, "The command "+what+". ID: "+id)
		lines = append(lines, d.opts.fill("{BashOutput} waits and reads its output, {KillShell} ends it."))
	}
	lines = append(lines, withoutNewline(shown(r, r.Stdout)), withoutNewline(shown(r, r.Stderr)))
	text := beforeCut(r) + cmp.Or(join("\n", lines...), "(no output)")
	return Answer{Text: text, IsError: hasFailed, Result: r, ID: id}
}

func (d *claude) output(ctx context.Context, args claudeOutputArgs, _ io.Writer) Answer {
	id := string(args.ID)
	r, notes, err := d.await(ctx, id, shared.CheckRequest{
		Wait:    args.Wait.or(0),
		WaitFor: string(args.WaitFor),
	})
	if err != nil {
		return d.failed(id, err)
	}
	text := beforeCut(r) + "<status>" + string(r.Status) + "</status>"
	if r.Status != shared.StatusRunning {
		text += fmt.Sprintf("\n\n<exit_code>%d</exit_code>", r.ExitCode)
	}
	if len(r.Leftover) > 0 {
		text += "\n\nStill running: " + listed(r.Leftover) + "."
	}
	text += taggedStreams(d.lines(id, r, args.Filter != ""), args.Filter)
	if len(notes) > 0 {
		text += "\n\nNote: " + strings.Join(notes, "; ")
	}
	return Answer{Text: text, Result: r, ID: id}
}

// lines returns the account with what an earlier filter has not seen before the new output. If
// there is a filter, it holds back the line that is still being written.
func (d *claude) lines(id string, r *shared.Result, isFiltered bool) *shared.Result {
	t := d.find(id)
	if t == nil {
		return r
	}
	whole := *r
	for stream, o := range []*shared.Output{&whole.Stdout, &whole.Stderr} {
		held := d.hold(t, stream, "")
		switch {
		case r.Cause == shared.CauseKill:
			held = "" // the account of a kill begins with the whole line
		case held != "" && o.Truncated:
			held += "\n" // its end is left out
		case held != "" && o.Content == "":
			o.Partial = true // it is unfinished as before
		}
		o.Content = held + o.Content
		begin := strings.LastIndexByte(o.Content, '\n') + 1
		rest := o.Content[begin:]
		if isFiltered && o.Partial && !over(r) && len(rest) <= d.opts.Limits.MaxBytes {
			o.Content = o.Content[:begin]
			d.hold(t, stream, rest)
		}
	}
	return &whole
}

// taggedStreams shows the lines of both streams that match.
func taggedStreams(r *shared.Result, filter pattern) string {
	re := regexp.MustCompile(string(filter)) // it was checked
	return tagged("stdout", r, r.Stdout, re) + tagged("stderr", r, r.Stderr, re)
}

func tagged(tag string, r *shared.Result, o shared.Output, re *regexp.Regexp) string {
	first, _, _ := strings.Cut(o.Content, "\n")
	o.StartsMidLine = o.StartsMidLine && re.MatchString(first)
	o.Head = matching(re, o.Head)
	o.Content = matching(re, o.Content)
	o.Partial = o.Partial && !strings.HasSuffix(o.Content, "\n")
	text := shown(r, o)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("\n\n<%s>\n%s</%[1]s>", tag, endLine(text))
}

// matching returns the lines of a text that match.
func matching(re *regexp.Regexp, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if re.MatchString(withoutNewline(line)) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (d *claude) kill(ctx context.Context, args claudeKillArgs, _ io.Writer) Answer {
	id := string(args.ID)
	r, said, err := d.tasks.kill(ctx, "Shell "+id, id, 0)
	if err != nil {
		return d.failed(id, err)
	}
	message := plainJSON(map[string]string{"message": said + ".", "shell_id": id})
	text := beforeCut(r) + string(message) + taggedStreams(d.lines(id, r, false), "")
	return Answer{Text: text, IsError: !over(r), Result: r, ID: id}
}
