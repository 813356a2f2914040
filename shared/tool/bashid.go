package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bashplugin/shared"
)

// bashDefaultTimeout is the bash_id dialect's timeout for a command in the
// foreground.
const bashDefaultTimeout = 30 * time.Second

// bashID is the bash_id dialect: three tools. A command that takes too long is
// killed, and the answer is an error; a command that fails is not an error.
// bash_output returns each byte of output once.
type bashID struct {
	bash  shared.Bash
	opts  Options
	tasks tasks
}

func newBashID(bash shared.Bash, opts Options) *Toolset {
	d := &bashID{bash: bash, opts: opts, tasks: tasks{bash: bash, newID: newBashName}}
	return &Toolset{tools: []tool{
		define("bash", bashIDDescription, Hints{Destructive: true, OpenWorld: true}, d.run),
		define("bash_output", bashIDOutputDescription, Hints{}, d.output), // not ReadOnly: it uses the new output up
		define("kill_bash", bashIDKillDescription, Hints{Destructive: true, Idempotent: true}, d.kill),
	}}
}

type bashIDArgs struct {
	Command    string  `json:"command" jsonschema:"The bash command to execute"`
	Timeout    integer `json:"timeout,omitempty" jsonschema:"Timeout in milliseconds (default: 30000; in background: none)"`
	Background bool    `json:"run_in_background,omitempty" jsonschema:"Run the command in the background and return its bash_id at once"`
}

func (a bashIDArgs) check(map[string]bool) error { return checkRun(a.Command, a.Timeout) }

type bashIDJobArgs struct {
	ID string `json:"bash_id" jsonschema:"The bash_id that bash returned"`
}

func newBashName() string {
	return fmt.Sprintf("bash_%d_%s", time.Now().UnixMilli(), strings.ToLower(rand.Text()[:9]))
}

func (d *bashID) run(ctx context.Context, args bashIDArgs, live io.Writer) Answer {
	req := d.opts.request(args.Command, live)
	req.Mode, req.Timeout = shared.ModeTerminate, milliseconds(args.Timeout, bashDefaultTimeout)
	if args.Background {
		req.Mode, req.Timeout = shared.ModeBackground, milliseconds(args.Timeout, 0)
	}
	r, err := d.bash.Execute(ctx, req)
	if err != nil {
		return d.failed("", err)
	}
	id := d.tasks.addJob(ctx, r, req.Mode)
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

func (d *bashID) output(ctx context.Context, args bashIDJobArgs, _ io.Writer) Answer {
	id := args.ID
	_, r, err := d.tasks.check(ctx, id, shared.CheckRequest{})
	if err != nil {
		return d.failed(id, err)
	}
	return Answer{Text: state(id, r, cmp.Or(streams(r), "(no new output)\n")), Result: r, ID: id}
}

func (d *bashID) kill(ctx context.Context, args bashIDJobArgs, _ io.Writer) Answer {
	id := args.ID
	t, unread, err := d.tasks.check(ctx, id, shared.CheckRequest{})
	if err == nil && over(unread) {
		text := fmt.Sprintf("Process %s had already ended.\n", id) + state(id, unread, streams(unread))
		return Answer{Text: text, Result: unread, ID: id}
	}
	var final *shared.Result
	if err == nil {
		final, err = d.bash.Kill(ctx, shared.KillRequest{PID: t.pid})
	}
	switch {
	case errors.Is(err, shared.ErrNotFound) && t != nil:
		return Answer{Text: fmt.Sprintf("Process %s is not running any more.", id), ID: id}
	case err != nil:
		return d.failed(id, err)
	}
	r := *final
	r.Stdout, r.Stderr = since(unread.Stdout, final.Stdout), since(unread.Stderr, final.Stderr)
	text := fmt.Sprintf("Process %s terminated.\n", id)
	if over(final) {
		t.final.Store(withoutOutput(r))
	} else {
		text = fmt.Sprintf("Process %s was sent SIGKILL, but %s.\n", id, unstoppable)
	}
	return Answer{Text: text + state(id, &r, streams(&r)), IsError: !over(final), Result: &r, ID: id}
}

// state is the text about a background process: its state, and then body.
func state(id string, r *shared.Result, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bash_id: %s\nstatus: %s\n", id, r.Status)
	if r.Status != shared.StatusRunning {
		fmt.Fprintf(&b, "exit code: %s\n", exitCode(r))
	}
	if why := unasked(r); why != "" {
		b.WriteString(why + "\n")
	}
	if len(r.Leftover) > 0 {
		fmt.Fprintf(&b, "still running: %s\n", leftover(r))
	}
	if body != "" {
		b.WriteString("\n" + strings.TrimSuffix(body, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n") + omissions(r)
}

// since cuts the final output of a stream to the part that no answer has shown.
// unread is the stream's Output from the last Check before the Kill. The part
// begins with a whole line: a line that was shown unfinished is shown again,
// because the process may have rewritten it.
func since(unread, final shared.Output) shared.Output {
	end := len(final.Content)
	at := int(unread.TotalBytes-final.TotalBytes) - len(unread.Content) + end
	if at < 0 {
		return final
	}
	if at > end { // the line has become shorter
		at = max(0, end-1)
	}
	out := final
	out.Content = final.Content[strings.LastIndexByte(final.Content[:at], '\n')+1:]
	out.Truncated, out.TruncatedBy, out.LastLinePartial = false, "", false
	out.OutputBytes, out.OutputLines = len(out.Content), strings.Count(endLine(out.Content), "\n")
	return out
}

// withoutOutput returns the account without the output, which was shown already.
func withoutOutput(r shared.Result) *shared.Result {
	for _, o := range []*shared.Output{&r.Stdout, &r.Stderr} {
		*o = shared.Output{TotalLines: o.TotalLines, TotalBytes: o.TotalBytes, Path: o.Path, PathError: o.PathError}
	}
	return &r
}

func (d *bashID) failed(id string, err error) Answer {
	var known *shared.Error
	switch {
	case !errors.As(err, &known):
		return failed("no result", err)
	case known.Code != shared.CodeNotFound || errors.Is(err, shared.ErrCrashed):
		return failed(string(known.Code), err)
	}
	text := fmt.Sprintf("%s: there is no background process with the bash_id %s. %s", known.Code, quote(id), d.tasks.newest())
	if d.tasks.find(id) != nil {
		text = fmt.Sprintf("%s: the background process %s has ended and its output is not kept any more.", known.Code, id)
	}
	return Answer{Text: text, IsError: true, Err: err}
}
