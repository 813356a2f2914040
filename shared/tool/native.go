package tool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

// native is the dialect of this module: a command that takes long becomes a job instead
// of being killed, waiting replaces polling, and nothing is shown twice. The streams are
// merged. Below them, in brackets, is what the tool says.
type native struct{ tasks }

func newNative(bash shared.Bash, opts Options) *Toolset {
	d := &native{tasks{bash: bash, opts: opts, prefix: "job_", noun: "job"}}
	return &Toolset{tools: []tool{
		define(opts, "bash", nativeDescription, Hints{Destructive: true, OpenWorld: true}, d.run),
		define(opts, "bash_job", nativeJobDescription, Hints{ReadOnly: true}, d.job),
		define(opts, "bash_input", nativeInputDescription, Hints{Destructive: true, OpenWorld: true}, d.input),
		define(opts, "bash_kill", nativeKillDescription, Hints{Destructive: true, Idempotent: true}, d.kill),
		define(opts, "bash_jobs", nativeJobsDescription, Hints{ReadOnly: true}, d.jobs),
	}}
}

type nativeArgs struct {
	Command    string  `json:"command" jsonschema:"The command, for bash -c"`
	Timeout    integer `json:"timeout,omitempty" jsonschema:"Seconds until the command goes on as a job (default {timeout_s}, at most {max_s}{call_limit})"`
	Background flag    `json:"background,omitempty" jsonschema:"Make it a job at once, for example a server"`
	Dir        string  `json:"dir,omitempty" jsonschema:"Directory to run in"`
	TTY        flag    `json:"tty,omitempty" jsonschema:"Run it in a terminal, for programs that ask or draw: {bash_input} types into it, and answers show its screen"`
	Input      string  `json:"input,omitempty" jsonschema:"Text for its stdin, which stays open: {bash_input} sends more, or closes it"`
}

func (a nativeArgs) check(opts Options, _ map[string]bool) error {
	return cmp.Or(checkCommand(a.Command), checkTime(opts, "timeout, in seconds,", a.Timeout, time.Second))
}

type nativeJobArgs struct {
	ID      string  `json:"id" jsonschema:"The id of the job"`
	Wait    integer `json:"wait,omitempty" jsonschema:"Seconds to wait at most, for the job's end or for wait_for (default 0, with wait_for 60; at most {max_s}{call_limit})"`
	WaitFor string  `json:"wait_for,omitempty" jsonschema:"Regular expression: return as soon as new output matches"`
	All     flag    `json:"all,omitempty" jsonschema:"Show all output from the beginning, as text, and let wait_for match it"`
}

func (a nativeJobArgs) check(opts Options, _ map[string]bool) error {
	return cmp.Or(checkTime(opts, "wait, in seconds,", a.Wait, time.Second), checkPattern("wait_for", a.WaitFor))
}

type nativeInputArgs struct {
	ID      string  `json:"id" jsonschema:"The id of the job, which was started with tty or input"`
	Input   string  `json:"input,omitempty" jsonschema:"What to write; \\n ends a line, in a terminal \\u0003 is Ctrl-C"`
	Close   flag    `json:"close_input,omitempty" jsonschema:"Then end its input (in a terminal: Ctrl-D)"`
	Wait    integer `json:"wait,omitempty" jsonschema:"As for {bash_job}"`
	WaitFor string  `json:"wait_for,omitempty" jsonschema:"As for {bash_job}"`
}

func (a nativeInputArgs) check(opts Options, given map[string]bool) error {
	return nativeJobArgs{Wait: a.Wait, WaitFor: a.WaitFor}.check(opts, given)
}

type nativeKillArgs struct {
	ID string `json:"id" jsonschema:"The id of the job"`
}

func (d *native) run(ctx context.Context, args nativeArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Timeout, req.Merge = times(args.Timeout, time.Second, d.opts.Timeout), true
	if req.Dir = args.Dir; !filepath.IsAbs(args.Dir) {
		req.Dir = filepath.Join(d.opts.Dir, args.Dir)
	}
	switch req.Input = args.Input; {
	case bool(args.TTY):
		req.Stdin = shared.StdinTTY
	case args.Input != "":
		req.Stdin = shared.StdinPipe
	}
	if args.Background {
		req.Mode, req.Timeout = shared.ModeBackground, 0
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.addJob(r, req.Mode)
	text := outcomeOf(r)
	if id != "" {
		text = "job " + id + " " + text
	}
	if !over(r) {
		text += d.opts.fill(": {bash_job} waits for it and shows new output, {bash_kill} ends it")
	}
	return Answer{Text: d.text(ctx, r, text), IsError: r.Status == shared.StatusKilled, Result: r, ID: id}
}

func (d *native) job(ctx context.Context, args nativeJobArgs, _ io.Writer) Answer {
	return d.look(ctx, args.ID, shared.CheckRequest{All: bool(args.All), Wait: times(args.Wait, time.Second, 0), WaitFor: args.WaitFor})
}

func (d *native) input(ctx context.Context, args nativeInputArgs, _ io.Writer) Answer {
	return d.look(ctx, args.ID, shared.CheckRequest{Input: args.Input, CloseInput: bool(args.Close), Wait: times(args.Wait, time.Second, 0), WaitFor: args.WaitFor})
}

func (d *native) look(ctx context.Context, id string, req shared.CheckRequest) Answer {
	r, said, err := d.await(ctx, id, req)
	if err != nil {
		return d.failed(id, err)
	}
	said = "job " + id + " " + outcomeOf(r) + said
	if req.All {
		return Answer{Text: nativeText(r, said), Result: r, ID: id}
	}
	return Answer{Text: d.text(ctx, r, said), Result: r, ID: id}
}

func (d *native) kill(ctx context.Context, args nativeKillArgs, _ io.Writer) Answer {
	r, said, err := d.tasks.kill(ctx, "job "+args.ID, args.ID)
	if err != nil {
		return d.failed(args.ID, err)
	}
	return Answer{Text: nativeText(r, strings.TrimSuffix(said, ".")), IsError: !over(r), Result: r, ID: args.ID}
}

// jobs lists the jobs that have an id here.
func (d *native) jobs(ctx context.Context, _ struct{}, _ io.Writer) Answer {
	all, err := d.bash.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	if err != nil {
		return d.failed("", err)
	}
	var lines []string
	for _, t := range d.known() {
		if i := slices.IndexFunc(all.Jobs, t.is); i >= 0 {
			r := all.Jobs[i]
			lines = append(lines, fmt.Sprintf("%s %s: %s", t.id, outcomeOf(&r), shorten(oneLine(r.Command), maxQuoted)))
		}
	}
	return Answer{Text: cmp.Or(strings.Join(lines, "\n"), "[no jobs]"), Result: all}
}

// text is what a command's terminal shows, and where the rest is. Without a terminal, or
// once the command has ended, it is nativeText.
func (d *native) text(ctx context.Context, r *shared.Result, said string) string {
	if r.Screen == "" || r.Status != shared.StatusRunning {
		return nativeText(r, said)
	}
	log := fullOutput(r.Stdout)
	if hidden := d.hidden(ctx, r); hidden > 0 {
		log = "output: " + count(hidden, "line") + " not on the screen. " + log
	}
	return endLine(r.Screen) + bracket(said+"; above is its screen", "") + "\n" + bracket(log, "")
}

// hidden says how many lines of output are not on the screen. It is 0 unless the screen shows
// just the last lines: a program may draw anything there.
func (d *native) hidden(ctx context.Context, r *shared.Result) int {
	rows := withoutBlanks(r.Screen)
	req := shared.CheckRequest{PID: r.PID, All: true, Peek: true, Limits: shared.Limits{MaxLines: len(rows) + shared.MaxRows}}
	now, err := d.bash.Check(context.WithoutCancel(ctx), req)
	if err != nil {
		return 0
	}
	lines := withoutBlanks(now.Stdout.Content)
	above := len(lines) - len(rows)
	if above < 0 || !slices.Equal(lines[above:], rows) {
		return 0
	}
	return int(now.Stdout.TotalLines) - lineCount(now.Stdout.Content) + above
}

// withoutBlanks returns the lines of a text as a screen has them, without blanks at their
// ends and without empty lines at its end.
func withoutBlanks(text string) []string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// nativeText is the new output and, below it, what the tool says.
func nativeText(r *shared.Result, said string) string {
	output := shown(r, r.Stdout)
	switch {
	case output != "":
		output = endLine(output)
	case r.Stdout.TotalBytes == 0:
		said += "; no output"
	default:
		said += "; no new output"
	}
	return output + bracket(said, "") + omission("output", r.Stdout)
}

// outcomeOf says what became of a command, or since when it runs.
func outcomeOf(r *shared.Result) string {
	if r.Status == shared.StatusRunning {
		return "is running, for " + seconds(r.Duration.Truncate(time.Second))
	}
	text := cmp.Or(killed(r, 0), "ended with exit code "+exitCode(r))
	if len(r.Leftover) > 0 {
		text += ", but left running " + listed(r.Leftover)
	}
	return text
}
