package tool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

// Native has bash, bash_job, bash_input, bash_kill and bash_jobs: a command that takes too long
// becomes a job, and waiting replaces polling.
const Native Dialect = "native"

const nativeDescription = "Run a command with bash. stdout and stderr come as one, in the order written; " +
	"of long output the end, and the path of a file with everything. " +
	"A command that runs longer than its timeout is not killed: it goes on as a job, whose id you get. " +
	"Start servers and watchers with background=true. " +
	"{bash_job} waits for a job and reads its output, {bash_kill} ends it, {bash_jobs} lists all. " +
	"Jobs end with the session. " + freshShell

const nativeJobDescription = "Show the new output and the state of a job. " +
	"Do not poll: wait returns when the job ends, or the time is over; " +
	"wait_for returns as soon as the output matches, for example when a server says that it listens."

const nativeInputDescription = "Write to a job's stdin or type into its terminal, wait as {bash_job} does, " +
	"and show what came."

const nativeKillDescription = "End a job and every process that it started. Shows its last output. " +
	"A job that has ended is no error."

const nativeJobsDescription = "List the jobs: id, state and command."

func nativeDialect() dialect {
	return dialect{
		name:  Native,
		tools: newNative,
		defaults: Options{
			Timeout:    2 * time.Minute,
			MaxTimeout: time.Hour,
			Limits:     shared.Limits{MaxLines: -1, MaxBytes: 30000, Notable: 10},
		},
		instructions: "A command that takes long goes on as a job: " +
			"{bash_job} waits for its end or for a line of its output, {bash_kill} ends it, " +
			"{bash_jobs} lists the jobs.",
	}
}

// native is the dialect of this module: a command that takes long becomes a job instead
// of being killed, waiting replaces polling, and nothing is shown twice. The streams are
// merged. Below them, in brackets, is what the tool says.
type native struct{ tasks }

func newNative(bash shared.Bash, opts Options) *Toolset {
	d := &native{tasks{bash: bash, opts: opts, prefix: "job_", noun: "job"}}
	return &Toolset{tools: []tool{
		define(opts, "bash", nativeDescription, runHints, d.run),
		define(opts, "bash_job", nativeJobDescription, showHints, d.job),
		define(opts, "bash_input", nativeInputDescription, runHints, d.input),
		define(opts, "bash_kill", nativeKillDescription, endHints, d.kill),
		define(opts, "bash_jobs", nativeJobsDescription, showHints, d.jobs),
	}}
}

type nativeArgs struct {
	Command    command      `json:"command" jsonschema:"The command, for bash -c"`
	Timeout    wholeSeconds `json:"timeout,omitempty" jsonschema:"Seconds until the command goes on as a job (default {timeout_s}, at most {max_s}{call_limit})"`
	Background flag         `json:"background,omitempty" jsonschema:"Make it a job at once, for example a server"`
	Dir        string       `json:"dir,omitempty" jsonschema:"Directory to run in"`
	Stdin      flag         `json:"tty,omitempty" jsonschema:"Run it in a terminal, for programs that ask or draw: {bash_input} types into it, and answers show its screen"`
	Input      string       `json:"input,omitempty" jsonschema:"Text for its stdin, which stays open: {bash_input} sends more, or closes it"`
}

type nativeJobArgs struct {
	ID      jobID        `json:"id" jsonschema:"The id of the job"`
	Wait    wholeSeconds `json:"wait,omitempty" jsonschema:"Seconds to wait at most, for the job's end or for wait_for (default 0, with wait_for 60; at most {max_s}{call_limit})"`
	WaitFor pattern      `json:"wait_for,omitempty" jsonschema:"Regular expression: return as soon as new output matches"`
	All     flag         `json:"all,omitempty" jsonschema:"Show all output from the beginning, as text, and let wait_for match it"`
}

type nativeInputArgs struct {
	ID         jobID        `json:"id" jsonschema:"The id of the job, which was started with tty or input"`
	Input      string       `json:"input,omitempty" jsonschema:"What to write; \\n ends a line, in a terminal \\u0003 is Ctrl-C"`
	CloseInput flag         `json:"close_input,omitempty" jsonschema:"Then end its input (in a terminal: Ctrl-D)"`
	Wait       wholeSeconds `json:"wait,omitempty" jsonschema:"As for {bash_job} (default: until the output pauses)"`
	WaitFor    pattern      `json:"wait_for,omitempty" jsonschema:"As for {bash_job}"`
}

type nativeKillArgs struct {
	ID jobID `json:"id" jsonschema:"The id of the job"`
}

func (d *native) run(ctx context.Context, args nativeArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Dir = d.opts.dir(args.Dir)
	req.Timeout = args.Timeout.or(d.opts.Timeout)
	req.Merge = true
	req.Input = args.Input
	switch {
	case bool(args.Stdin):
		req.Stdin = shared.StdinTTY
	case args.Input != "":
		req.Stdin = shared.StdinPipe
	}
	if args.Background {
		req.Mode = shared.ModeBackground
		req.Timeout = 0
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	d.addCancelled(r)
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
	return d.look(ctx, string(args.ID), shared.CheckRequest{
		All:     bool(args.All),
		Wait:    args.Wait.or(0),
		WaitFor: string(args.WaitFor),
	})
}

func (d *native) input(ctx context.Context, args nativeInputArgs, _ io.Writer) Answer {
	id := string(args.ID)
	req := shared.CheckRequest{
		Input:      args.Input,
		CloseInput: bool(args.CloseInput),
		Wait:       args.Wait.or(0),
		WaitFor:    string(args.WaitFor),
	}
	if req.Wait > 0 || req.WaitFor != "" {
		return d.look(ctx, id, req)
	}
	err := d.settle(ctx, id, req)
	if err != nil {
		return d.failed(id, err)
	}
	return d.look(ctx, id, shared.CheckRequest{})
}

func (d *native) look(ctx context.Context, id string, req shared.CheckRequest) Answer {
	r, notes, err := d.await(ctx, id, req)
	if err != nil {
		return d.failed(id, err)
	}
	outcome := "job " + id + " " + outcomeOf(r)
	said := strings.Join(append([]string{outcome}, notes...), "; ")
	if req.All {
		return Answer{Text: nativeText(r, said), Result: r, ID: id}
	}
	return Answer{Text: d.text(ctx, r, said), Result: r, ID: id}
}

func (d *native) kill(ctx context.Context, args nativeKillArgs, _ io.Writer) Answer {
	id := string(args.ID)
	r, said, err := d.tasks.kill(ctx, "job "+id, id, 0)
	if err != nil {
		return d.failed(id, err)
	}
	return Answer{Text: nativeText(r, said), IsError: !over(r), Result: r, ID: id}
}

// jobs lists the jobs that have an id here.
func (d *native) jobs(ctx context.Context, _ struct{}, _ io.Writer) Answer {
	all, err := d.bash.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	if err != nil {
		return d.failed("", err)
	}
	var lines []string
	for _, t := range d.known() {
		r := t.final.Load()
		i := slices.IndexFunc(all.Jobs, t.is)
		switch {
		case i >= 0:
			r = &all.Jobs[i]
		case !t.isCancelled:
			continue
		}
		command := shorten(oneLine(r.Command), maxQuoted)
		lines = append(lines, fmt.Sprintf("%s %s: %s", t.id, outcomeOf(r), command))
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
	return endLine(r.Screen) + bracket(said+"; above is its screen") + "\n" + bracket(log)
}

// hidden says how many lines of output are not on the screen. It is 0 unless the screen shows
// just the last lines: a program may draw anything there.
func (d *native) hidden(ctx context.Context, r *shared.Result) int {
	rows := withoutBlanks(r.Screen)
	now, err := d.bash.Check(context.WithoutCancel(ctx), shared.CheckRequest{
		PID:    r.PID,
		All:    true,
		Peek:   true,
		Limits: shared.Limits{MaxLines: len(rows) + shared.MaxRows},
	})
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

// nativeText is the new output and, below it, what the tool says. If output is left out, that
// stands first: some clients cut the end of an answer.
func nativeText(r *shared.Result, said string) string {
	output := shown(r, r.Stdout)
	if output != "" && r.Stdout.Truncated {
		return bracket(said) + "\n" + omission("output", r.Stdout) + withoutNewline(output)
	}
	switch {
	case output != "":
		output = endLine(output)
	case r.Stdout.TotalBytes == 0:
		said += "; no output"
	default:
		said += "; no new output"
	}
	return output + withoutNewline(bracket(said)+"\n"+omission("output", r.Stdout))
}

// outcomeOf says what became of a command, or since when it runs, and what it left running.
func outcomeOf(r *shared.Result) string {
	text := state(r)
	if r.Status != shared.StatusRunning && len(r.Leftover) > 0 {
		text += ", but left running " + listed(r.Leftover)
	}
	return text
}
