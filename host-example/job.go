package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// takeInput makes the command a job from the start, because Check writes to its stdin. At the
// timeout the mode still decides what happens to the job.
func (o *oneRun) takeInput() {
	switch o.req.Mode {
	case shared.ModeDetach:
		o.patience = o.req.Timeout
		o.req.Timeout = 0
	case shared.ModeTerminate:
		o.patience = forever
		o.req.Timeout = cmp.Or(o.req.Timeout, shared.DefaultTimeout)
	}
	o.req.Mode = shared.ModeBackground
	o.req.Stdin = shared.StdinPipe
}

// follow passes stdin on to a job, if asked to, and waits for the end of its bash. A
// notice tells that the command goes on, unless it ends within the patience.
func (o *oneRun) follow(ctx context.Context, client *host.Client, job *shared.Result) (*shared.Result, error) {
	pid := job.PID
	if o.input {
		go feed(ctx, client, pid, os.Stdin)
	}
	if o.patience > 0 {
		var err error
		job, err = awaitEnd(ctx, client, pid, o.patience)
		if err != nil || job.Status != shared.StatusRunning {
			return job, err
		}
	}
	if o.asJSON {
		notice(job, "the Result comes at its end")
	} else {
		notice(job, "its output goes on here")
	}
	return awaitEnd(ctx, client, pid, forever)
}

// awaitEnd waits for the end of a job's bash, at most for wait. A signal kills the job.
func awaitEnd(ctx context.Context, client *host.Client, pid int, wait time.Duration) (*shared.Result, error) {
	result, err := client.Check(ctx, shared.CheckRequest{PID: pid, Wait: wait, All: true})
	if ctx.Err() != nil {
		return client.Kill(context.WithoutCancel(ctx), shared.KillRequest{PID: pid})
	}
	return result, err
}

// feed passes a file on to a job's stdin.
func feed(ctx context.Context, client *host.Client, pid int, from *os.File) {
	buffer := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := from.Read(buffer)
		give(ctx, client, shared.CheckRequest{
			PID:        pid,
			Peek:       true,
			Input:      string(buffer[:n]),
			CloseInput: err != nil,
			Limits:     shared.Limits{MaxBytes: 1},
		})
		if err != nil {
			return
		}
	}
}

// give calls Check until the plugin takes the input: there may be no room for it yet. It need not
// notice the end of the job, because this program ends then.
func give(ctx context.Context, client *host.Client, req shared.CheckRequest) {
	for ctx.Err() == nil {
		_, err := client.Check(ctx, req)
		if !errors.Is(err, shared.ErrInvalid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
