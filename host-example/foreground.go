package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"bashplugin/shared"
)

// execute runs a command as a job, so that it can go on in the background, and waits
// for its end.
func (s *shell) execute(ctx context.Context, command string) error {
	stdout := &liveCopy{to: os.Stdout}
	stderr := &liveCopy{to: os.Stderr}
	defer stdout.shut.Store(true)
	defer stderr.shut.Store(true)
	req := shared.ExecuteRequest{
		Command: command,
		Mode:    shared.ModeBackground,
		Dir:     s.dir,
		Env:     s.env,
		Merge:   oneStream(),
		Stdout:  stdout,
		Stderr:  stderr,
	}
	start := func(ctx context.Context) (*shared.Result, error) { return s.bash.Execute(ctx, req) }
	var pressed os.Signal
	result, err := s.attend(ctx, start, func(key os.Signal, stop func()) {
		pressed = key
		// Another implementation of the contract may ignore the mode, and wait for the end.
		time.AfterFunc(time.Second/2, func() { onInterrupt(key, stop) })
	})
	if errors.Is(err, shared.ErrInvalid) { // another implementation may refuse the mode, or to merge
		req.Mode = ""
		req.Merge = false
		req.Timeout = forever
		result, err = s.attend(ctx, start, onInterrupt)
	} else if err == nil && result.Status == shared.StatusRunning {
		result, err = s.await(ctx, result.PID, pressed)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	shown, stop := context.WithTimeout(ctx, lastWords)
	defer stop()
	stdout.await(shown, result.Stdout)
	stderr.await(shown, result.Stderr)
	stdout.complete(result.Stdout)
	stderr.complete(result.Stderr)
	s.finish(ctx, result)
	return nil
}

// lastWords is how long the repl goes on showing the output of a command that has
// ended. The log has the rest.
const lastWords = time.Second

// onInterrupt ends a call at Ctrl-C and ignores Ctrl-Z.
func onInterrupt(key os.Signal, stop func()) {
	if key == os.Interrupt {
		stop()
	}
}

// await waits for the end of a job's bash, unless a key was pressed already.
// Ctrl-C ends the job; another one ends it at once. Ctrl-Z stops the waiting.
func (s *shell) await(ctx context.Context, pid int, pressed os.Signal) (*shared.Result, error) {
	wait := forever
	if pressed != nil {
		wait = 0
	}
	check := func(ctx context.Context) (*shared.Result, error) {
		return s.client.Check(ctx, shared.CheckRequest{PID: pid, Wait: wait, All: true})
	}
	result, err := s.attend(ctx, check, func(key os.Signal, stop func()) {
		pressed = key
		stop()
	})
	if err != nil || pressed != os.Interrupt || result.Status != shared.StatusRunning {
		return result, err
	}
	end := func(ctx context.Context, signal syscall.Signal) (*shared.Result, error) {
		return s.client.Kill(ctx, shared.KillRequest{PID: pid, Signal: signal})
	}
	interrupt := func(ctx context.Context) (*shared.Result, error) { return end(ctx, syscall.SIGINT) }
	return s.attend(ctx, interrupt, func(key os.Signal, _ func()) {
		if key == os.Interrupt {
			go func() { _, _ = end(ctx, syscall.SIGKILL) }() // the other call returns the outcome
		}
	})
}

// finish says how a command ended, and makes the plugin forget it unless some of it still runs.
func (s *shell) finish(ctx context.Context, r *shared.Result) {
	if r.Status == shared.StatusRunning {
		fmt.Fprintf(os.Stderr, "[job %d goes on in the background; see :check, :wait and :kill]\n", r.PID)
		return
	}
	s.exitCode = max(r.ExitCode, 0)
	if r.Status != shared.StatusCompleted {
		fmt.Fprintf(os.Stderr, "[%s]\n", outcome(r))
	}
	if r.Duration > time.Second {
		fmt.Fprintf(os.Stderr, "[used %s]\n", r.Usage)
	}
	for _, p := range r.Leftover {
		fmt.Fprintf(os.Stderr, "[left running, as job %d: %d %s]\n", r.PID, p.PID, oneLine(p.Command))
	}
	if len(r.Leftover) == 0 { // Kill makes the plugin forget the command if it is a job
		_, _ = s.client.Kill(ctx, shared.KillRequest{PID: r.PID})
	}
}
