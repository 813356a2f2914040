package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

// run runs one command and returns its exit code.
func run(args []string) (int, error) {
	set, launch := newFlagSet("run")
	var req shared.ExecuteRequest
	asJSON := set.Bool("json", false, "print the whole Result as JSON, when the command has ended, instead of the output")
	set.StringVar((*string)(&req.Mode), "mode", string(shared.ModeDetach), "what happens at the timeout: "+list(shared.Modes()))
	set.DurationVar(&req.Timeout, "timeout", 0, fmt.Sprintf("how long to wait until -mode applies (default no limit; with -mode terminate or auto %v)", shared.DefaultTimeout))
	interactive := set.Bool("i", false, "pass stdin on to the command, with -mode background")
	set.BoolVar(&req.Merge, "merge", false, "merge stderr into stdout (without -json, this is the default if both are the same file)")
	if err := parse(set, args); err != nil {
		return usageError, err
	}
	req.Command = strings.Join(set.Args(), " ")
	switch {
	case set.NArg() == 0:
		return usageError, errors.New("there is no COMMAND")
	case !slices.Contains(shared.Modes(), req.Mode):
		return usageError, fmt.Errorf("-mode is %q: use one of %s", req.Mode, list(shared.Modes()))
	case req.Timeout < 0:
		return usageError, fmt.Errorf("-timeout is %v: use 0 for the default, or a positive duration", req.Timeout)
	case *interactive: // a job, because Check writes to it
		req.Mode, req.Stdin = shared.ModeBackground, shared.StdinPipe
	case req.Timeout == 0 && req.Mode == shared.ModeDetach:
		req.Timeout = forever
	}
	req.Env = launch.env
	return launch.with(func(ctx context.Context, client *shared.Client) (int, error) {
		return start(ctx, client, req, *asJSON)
	})
}

// forever is a timeout that is never reached.
const forever = 10000 * time.Hour

// start runs a command until it ends, even if it becomes a job, and returns its exit
// code. It copies the output live or prints the Result, and ends the processes that
// the command left running.
func start(ctx context.Context, client *shared.Client, req shared.ExecuteRequest, asJSON bool) (int, error) {
	stdout, stderr := &liveCopy{to: os.Stdout}, &liveCopy{to: os.Stderr}
	next, merged := "the Result comes at its end", false
	if !asJSON {
		next, merged = "its output goes on here", !req.Merge && oneStream()
		req.Stdout, req.Stderr, req.Lossless, req.Merge = stdout, stderr, true, req.Merge || merged
	}
	result, err := client.Execute(ctx, req)
	if errors.Is(err, shared.ErrInvalid) && merged { // another implementation of the contract may not merge
		req.Merge = false
		result, err = client.Execute(ctx, req)
	}
	detached := err == nil && result.Status == shared.StatusRunning
	if detached {
		if req.Stdin == "" {
			notice(result, next)
		} else {
			go feed(ctx, client, result.PID, os.Stdin)
		}
		result, err = follow(ctx, client, result.PID)
	}
	if err != nil {
		return 1, err
	}
	if len(result.Leftover) > 0 { // if this fails, Close ends them
		_, _ = client.Kill(context.WithoutCancel(ctx), shared.KillRequest{PID: result.PID, Grace: time.Second / 2})
	}
	if asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(result) // stdout.err has the error
	} else {
		if detached || len(result.Leftover) > 0 { // otherwise Execute has waited for the live copy
			stdout.await(ctx, result.Stdout)
			stderr.await(ctx, result.Stderr)
		}
		stdout.complete(result.Stdout)
		stderr.complete(result.Stderr)
	}
	sayEnd(result)
	if req.Stdout != nil && !detached && client.PluginPID() > 0 && result.Stdout.LiveSkipped+result.Stderr.LiveSkipped == 0 { // no message has named the logs
		_ = os.Remove(result.Stdout.Path)
		_ = os.Remove(result.Stderr.Path)
	}
	for _, c := range []*liveCopy{stdout, stderr} {
		if err := c.err.Load(); err != nil {
			return 1, *err
		}
	}
	return max(result.ExitCode, 0), nil
}

// sayEnd says why the command was killed, and what it left running.
func sayEnd(r *shared.Result) {
	for _, p := range r.Leftover {
		fmt.Fprintf(os.Stderr, "[left running by the command, and ended with this program: %d %s]\n", p.PID, oneLine(p.Command))
	}
	if r.Exceeded != "" {
		fmt.Fprintf(os.Stderr, "[killed: %s]\n", r.Exceeded)
	}
	if r.Cause == shared.CauseTimeout {
		fmt.Fprintf(os.Stderr, "[killed at the timeout, after %v]\n", r.Duration.Round(time.Millisecond))
	}
}

// feed passes a file on to a job's stdin.
func feed(ctx context.Context, client *shared.Client, pid int, from *os.File) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		req := shared.CheckRequest{PID: pid, Peek: true, Input: string(buffer[:n]), CloseInput: err != nil, Limits: shared.Limits{MaxBytes: 1}}
		for _, refused := client.Check(ctx, req); errors.Is(refused, shared.ErrInvalid); _, refused = client.Check(ctx, req) {
			time.Sleep(10 * time.Millisecond) // until there is room: follow ends this program with the job
		}
		if err != nil || ctx.Err() != nil {
			return
		}
	}
}

// follow waits for the end of a job's bash. A signal kills the job.
func follow(ctx context.Context, client *shared.Client, pid int) (*shared.Result, error) {
	result, err := client.Check(ctx, shared.CheckRequest{PID: pid, Wait: forever, All: true})
	if ctx.Err() != nil {
		return client.Kill(context.WithoutCancel(ctx), shared.KillRequest{PID: pid})
	}
	return result, err
}
