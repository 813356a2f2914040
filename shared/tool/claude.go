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

// Claude has Bash, TaskOutput and TaskStop, as in Claude Code.
const Claude Dialect = "claude"

const claudeDescription = "Run a bash command. At its timeout it is not killed but moves to the background, " +
	"with an ID for {TaskOutput} and {TaskStop}. " +
	"Of long output you get the end, and the path of a file with everything. " +
	"Background commands end with the session. " + freshShell

const claudeOutputDescription = "Get the output of a background task, with its status " +
	"(running, completed, failed, killed) and exit code. It waits for the task's end unless block is false."

const claudeStopDescription = "Stop a background task and every process that it started."

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
			"{TaskOutput} shows its output, {TaskStop} ends it.",
	}
}

// claude is the dialect with the names and the result shapes of Claude Code's shell
// tools. A command that takes long goes on in the background, and one that fails is an
// error. BashOutput and KillShell are from earlier versions: they are not listed. BashOutput shows
// output once, and can wait for a line of it.
type claude struct{ tasks }

func newClaude(bash shared.Bash, opts Options) *Toolset {
	d := &claude{tasks{bash: bash, opts: opts, prefix: "bash_", noun: "background task"}}
	return &Toolset{
		tools: []tool{
			define(opts, "Bash", claudeDescription, runHints, d.run),
			define(opts, "TaskOutput", claudeOutputDescription, showHints, d.taskOutput),
			define(opts, "TaskStop", claudeStopDescription, endHints, d.taskStop),
		},
		aliases: []tool{
			define(opts, "BashOutput", claudeOutputDescription, showHints, d.output),
			define(opts, "KillShell", claudeStopDescription, endHints, d.kill),
		},
	}
}

type claudeArgs struct {
	Command     command      `json:"command" jsonschema:"The command to run"`
	Timeout     milliseconds `json:"timeout,omitempty" jsonschema:"Milliseconds until the command moves to the background (default {timeout_ms}, at most {max_ms}{call_limit})"`
	Description string       `json:"description,omitempty" jsonschema:"What the command does, in 5 to 10 words"`
	Background  flag         `json:"run_in_background,omitempty" jsonschema:"Run it in the background at once"`
}

type claudeTaskArgs struct {
	ID      jobID        `json:"task_id" jsonschema:"The ID of the background task"`
	Block   *flag        `json:"block,omitempty" jsonschema:"Wait for its end (default true)"`
	Timeout milliseconds `json:"timeout,omitempty" jsonschema:"Milliseconds to wait at most (default 30000, at most {max_ms}{call_limit})"`
}

type claudeStopArgs struct {
	ID jobID `json:"task_id" jsonschema:"The ID of the background task"`
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
		what := "Command running in background with ID: " + id
		if r.Status != shared.StatusRunning {
			what = "Command " + outcomeOf(r) + ". ID: " + id
		}
		if r.Stdout.Path != "" {
			what += ". Output is being written to: " + r.Stdout.Path
		}
		what += d.opts.fill(". {TaskOutput} waits for its end and shows its output, {TaskStop} ends it.")
		lines = append(lines, what)
	}
	lines = append(lines, withoutNewline(shown(r, r.Stdout)), withoutNewline(shown(r, r.Stderr)))
	text := beforeCut(r) + cmp.Or(join("\n", lines...), "(Bash completed with no output)")
	return Answer{Text: text, IsError: hasFailed, Result: r, ID: id}
}

func (d *claude) taskOutput(ctx context.Context, args claudeTaskArgs, _ io.Writer) Answer {
	id := string(args.ID)
	req := shared.CheckRequest{All: true}
	isBlocking := args.Block == nil || bool(*args.Block)
	if isBlocking {
		req.Wait = args.Timeout.or(30 * time.Second)
	}
	r, notes, err := d.await(ctx, id, req)
	if err != nil {
		return d.failed(id, err)
	}
	retrieval := "success"
	switch {
	case r.Status == shared.StatusRunning && isBlocking:
		retrieval = "timeout"
	case r.Status == shared.StatusRunning:
		retrieval = "not_ready"
	}
	parts := []string{
		"<retrieval_status>" + retrieval + "</retrieval_status>",
		"<task_id>" + id + "</task_id>",
		"<task_type>local_bash</task_type>",
		"<status>" + string(r.Status) + "</status>",
	}
	if r.Status != shared.StatusRunning {
		parts = append(parts, fmt.Sprintf("<exit_code>%d</exit_code>", r.ExitCode))
	}
	output := join("\n", withoutNewline(shown(r, r.Stdout)), withoutNewline(shown(r, r.Stderr)))
	if output != "" {
		parts = append(parts, "<output>\n"+output+"\n</output>")
	}
	if len(r.Leftover) > 0 {
		parts = append(parts, "Still running: "+listed(r.Leftover)+".")
	}
	if len(notes) > 0 {
		parts = append(parts, "Note: "+strings.Join(notes, "; "))
	}
	return Answer{Text: beforeCut(r) + strings.Join(parts, "\n\n"), Result: r, ID: id}
}

func (d *claude) taskStop(ctx context.Context, args claudeStopArgs, _ io.Writer) Answer {
	id := string(args.ID)
	what := "Task " + id
	r, said, err := d.tasks.kill(ctx, what, id, 0)
	if err != nil {
		return d.failed(id, err)
	}
	command := shorten(r.Command, maxCommand)
	said = strings.Replace(said, what+" terminated", "Successfully stopped task: "+id+" ("+command+")", 1)
	message := plainJSON(map[string]string{
		"message":   said,
		"task_id":   id,
		"task_type": "local_bash",
		"command":   command,
	})
	return Answer{Text: string(message), IsError: !over(r), Result: r, ID: id}
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
