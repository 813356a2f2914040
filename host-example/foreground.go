package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"bashplugin/shared"
)

// quietLeftover is how long a command's last words may take where something
// goes on that could write.
const quietLeftover = 50 * time.Millisecond

// execute runs a command as a job, so that it can be detached, and waits for
// its end.
func (s *shell) execute(ctx context.Context, command string) error {
	out, err := newOutlet(s.out, s.failed), newOutlet(s.err, s.failed)
	defer out.shut()
	defer err.shut()
	ahead := s.console.begin()
	defer s.console.end()
	started, failure := s.client.Execute(ctx, shared.ExecuteRequest{
		Command: command, Mode: shared.ModeBackground, Dir: s.dir, Stdout: out, Stderr: err,
	})
	if failure != nil {
		return failure
	}
	s.note(started)
	result, failure := s.follow(ctx, started.PID, ahead)
	if failure != nil || ctx.Err() != nil {
		return failure
	}
	if result.Status == shared.StatusRunning {
		out.shut()
		err.shut()
		s.console.end()
		fmt.Fprintf(s.err, "[job %d goes on in the background; see :check, :wait and :kill]\n", result.PID)
		return nil
	}
	quiet := quietEnd
	if len(result.Leftover) > 0 {
		quiet = quietLeftover
	}
	out.drain(ctx, quiet)
	err.drain(ctx, quiet)
	s.console.end()
	return s.finish(ctx, result)
}

// finish tells how a command ended, and forgets it unless it goes on as a job.
func (s *shell) finish(ctx context.Context, r *shared.Result) error {
	s.exitCode = max(r.ExitCode, 0)
	if r.Status != shared.StatusCompleted {
		fmt.Fprintf(s.err, "[%s]\n", outcome(r))
	}
	for _, p := range r.Leftover {
		fmt.Fprintf(s.err, "[left running, as job %d: %d %s]\n", r.PID, p.PID, oneLine(p.Command))
	}
	if len(r.Leftover) > 0 {
		return nil
	}
	_, err := s.client.Kill(ctx, shared.KillRequest{PID: r.PID, Limits: nothing})
	if errors.Is(err, shared.ErrNotFound) { // it was killed
		err = nil
	}
	delete(s.logs, r.PID)
	return err
}

// nothing is for Results whose output has been shown as it came.
var nothing = shared.Limits{MaxLines: 1, MaxBytes: 1}

// follow waits for the end of a job's bash. Ctrl-C kills the job; :detach ends
// the waiting, and the Result says that the job is running.
func (s *shell) follow(ctx context.Context, pid int, ahead []key) (*shared.Result, error) {
	var killed chan account
	result, err := s.attend(ctx, ahead, func(ctx context.Context) (*shared.Result, error) {
		return s.client.Check(ctx, shared.CheckRequest{PID: pid, Wait: forever, Limits: nothing})
	}, func(k key, stop func()) {
		switch {
		case k == keyDetach:
			stop()
		case killed == nil:
			killed = make(chan account, 1)
			go func() { killed <- s.kill(ctx, pid, syscall.SIGINT) }()
		default:
			go s.kill(ctx, pid, syscall.SIGKILL) // the first one tells the outcome
		}
	})
	if killed != nil {
		a := <-killed
		return a.result, a.err
	}
	return result, err
}

// forever is longer than anybody waits.
const forever = 10000 * time.Hour

// account is what a call of the plugin came to.
type account struct {
	result *shared.Result
	err    error
}

func (s *shell) kill(ctx context.Context, pid int, sig syscall.Signal) account {
	result, err := s.client.Kill(ctx, shared.KillRequest{PID: pid, Signal: sig, Limits: nothing})
	return account{result, err}
}

// tickTime is between two looks at the indicator.
const tickTime = 200 * time.Millisecond

// attend makes a call, and presses the keys that come in meanwhile. stop ends
// the call's context.
func (s *shell) attend(ctx context.Context, ahead []key, call func(context.Context) (*shared.Result, error), press func(k key, stop func())) (*shared.Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan account, 1)
	go func() {
		result, err := call(ctx)
		done <- account{result, err}
	}()
	ticker := time.NewTicker(tickTime)
	defer ticker.Stop()
	for {
		for _, k := range ahead {
			press(k, stop)
		}
		ahead = nil
		select {
		case a := <-done:
			return a.result, a.err
		case <-s.interrupts:
			ahead = []key{keyInterrupt}
		case chunk, ok := <-s.console.input():
			ahead = s.console.take(chunk, ok)
			s.console.tick()
		case <-ticker.C:
			s.console.tick()
		}
	}
}

// note remembers where a job's output is.
func (s *shell) note(r *shared.Result) {
	if r == nil || r.PID == 0 {
		return
	}
	var paths []string
	for _, out := range []shared.Output{r.Stdout, r.Stderr} {
		if out.Path != "" {
			paths = append(paths, out.Path)
		}
	}
	s.logs[r.PID] = paths
}
