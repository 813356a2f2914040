package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// run runs one command and returns its exit code.
func run(args []string) (int, error) {
	o := &oneRun{stdout: &liveCopy{to: os.Stdout}, stderr: &liveCopy{to: os.Stderr}}
	launch, err := o.parse(args)
	if err != nil {
		o.report(err, shared.CodeInvalid)
		return usageError, err
	}
	code, err := launch.with(func(ctx context.Context, client *host.Client) (int, error) {
		return o.guarded(ctx, client, launch)
	})
	if err != nil {
		o.report(err, shared.CodeInternal)
		return toolError, err
	}
	return code, nil
}

// forever is a timeout that is never reached.
const forever = 10000 * time.Hour

// oneRun is one command, which this program waits for even if it becomes a job. The
// command's output is copied live, or its Result is printed.
type oneRun struct {
	bash   shared.Bash // that runs the command
	req    shared.ExecuteRequest
	asJSON bool
	input  bool // stdin is passed on

	// patience is how long a job with input runs before a notice tells of it.
	patience time.Duration

	stdout  *liveCopy
	stderr  *liveCopy
	printed bool // stdout has the Result
}

func (o *oneRun) parse(args []string) (*launchFlags, error) {
	set, launch := newFlagSet("run")
	set.BoolVar(&o.asJSON, "json", false, "print the whole Result as JSON, when the command has ended, "+
		`instead of the output; or {"error": {"code", "message"}}`)
	set.StringVar((*string)(&o.req.Mode), "mode", string(shared.ModeDetach),
		"what happens at the timeout: "+list(shared.Modes()))
	set.DurationVar(&o.req.Timeout, "timeout", 0, fmt.Sprintf(
		"how long to wait before -mode applies (default no limit; with -mode terminate or auto %v)",
		shared.DefaultTimeout))
	set.BoolVar(&o.input, "i", false, "pass stdin on to the command; not with -mode auto")
	set.BoolVar(&o.req.Merge, "merge", false,
		"merge stderr into stdout (without -json, this is the default if both are the same file)")
	if err := parse(set, args); err != nil {
		return nil, err
	}
	o.req.Command = strings.Join(set.Args(), " ")
	switch {
	case set.NArg() == 0:
		return nil, errors.New("there is no COMMAND")
	case !slices.Contains(shared.Modes(), o.req.Mode):
		return nil, fmt.Errorf("-mode is %q: use one of %s", o.req.Mode, list(shared.Modes()))
	case o.req.Timeout < 0:
		return nil, fmt.Errorf("-timeout is %v: use 0 for the default, or a positive duration", o.req.Timeout)
	case o.input && o.req.Mode == shared.ModeAuto:
		return nil, errors.New("-mode auto does not go with -i: use detach, terminate or background")
	}
	if o.req.Mode == shared.ModeDetach {
		o.req.Timeout = cmp.Or(o.req.Timeout, forever)
	}
	if o.input {
		o.takeInput()
	}
	return launch, nil
}

// guarded is run behind the policy of the flags.
func (o *oneRun) guarded(ctx context.Context, client *host.Client, launch *launchFlags) (int, error) {
	bash, end, err := launch.guard(client, nil)
	if err != nil {
		return toolError, err
	}
	defer end()
	o.bash = bash
	o.req.Env = launch.env
	return o.run(ctx, client)
}

// run runs the command, ends the processes that it left running, and returns its exit code.
func (o *oneRun) run(ctx context.Context, client *host.Client) (int, error) {
	result, err := o.start(ctx)
	isJob := err == nil && result.Status == shared.StatusRunning
	if isJob {
		result, err = o.follow(ctx, client, result)
	}
	if err != nil {
		return toolError, err
	}
	if len(result.Leftover) > 0 { // if this fails, Close ends them
		_, _ = client.Kill(context.WithoutCancel(ctx), shared.KillRequest{PID: result.PID, Grace: time.Second / 2})
	}
	if o.asJSON {
		o.printed = true
		o.print(result)
	} else {
		copied := !isJob && len(result.Leftover) == 0 // Execute has waited for the live copy
		o.complete(ctx, result, copied)
	}
	sayEnd(result)
	skipped := result.Stdout.LiveSkipped + result.Stderr.LiveSkipped
	if !o.asJSON && !isJob && client.PluginPID() > 0 && skipped == 0 { // no message has named the logs
		_ = os.Remove(result.Stdout.Path)
		_ = os.Remove(result.Stderr.Path)
	}
	return max(result.ExitCode, 0), cmp.Or(o.stdout.failure(), o.stderr.failure())
}

// start starts the command. It returns when the command has ended or has become a job.
func (o *oneRun) start(ctx context.Context) (*shared.Result, error) {
	if o.asJSON {
		return o.bash.Execute(ctx, o.req)
	}
	o.req.Stdout = o.stdout
	o.req.Stderr = o.stderr
	o.req.Lossless = true
	if o.req.Merge || !oneStream() {
		return o.bash.Execute(ctx, o.req)
	}
	o.req.Merge = true
	result, err := o.bash.Execute(ctx, o.req)
	if errors.Is(err, shared.ErrInvalid) { // another implementation of the contract may not merge
		o.req.Merge = false
		return o.bash.Execute(ctx, o.req)
	}
	return result, err
}

// complete completes the live copy of a command that has ended.
func (o *oneRun) complete(ctx context.Context, r *shared.Result, copied bool) {
	if !copied {
		o.stdout.await(ctx, r.Stdout)
		o.stderr.await(ctx, r.Stderr)
	}
	o.stdout.complete(r.Stdout)
	o.stderr.complete(r.Stderr)
}

// print prints a value as JSON. If that fails, stdout.failure has the error.
func (o *oneRun) print(value any) {
	encoder := json.NewEncoder(o.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value)
}

// report prints an error if JSON is wanted and stdout has no Result. code stands in for the code of
// an error that has none.
func (o *oneRun) report(err error, code shared.Code) {
	if o.asJSON && !o.printed && !errors.Is(err, flag.ErrHelp) {
		o.print(map[string]any{"error": errorObject(err, code)})
	}
}

// sayEnd says why the command was killed, and what it left running.
func sayEnd(r *shared.Result) {
	for _, p := range r.Leftover {
		fmt.Fprintf(os.Stderr, "[left running by the command, and ended with this program: %d %s]\n",
			p.PID, oneLine(p.Command))
	}
	if r.Exceeded != "" {
		fmt.Fprintf(os.Stderr, "[killed: %s]\n", r.Exceeded)
	}
	if r.Cause == shared.CauseTimeout {
		fmt.Fprintf(os.Stderr, "[killed at the timeout, after %v]\n", r.Duration.Round(time.Millisecond))
	}
}
