package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"bashplugin/shared"
)

// execute runs a command as a job, so that it can be detached, and waits for
// its end.
func (s *shell) execute(ctx context.Context, command string) error {
	f := &foreground{shell: s, out: newOutlet(s.out, nil), err: newOutlet(s.err, nil)}
	f.interrupted, f.interrupt = context.WithCancel(ctx)
	defer f.interrupt()
	defer f.shut()
	ahead := s.console.begin(true)
	defer s.console.end()
	started, err := s.client.Execute(ctx, shared.ExecuteRequest{
		Command: command, Mode: shared.ModeBackground, Dir: s.dir, Merge: s.merge,
		Stdout: f.out, Stderr: f.err,
	})
	if err != nil {
		return err
	}
	s.note(started)
	f.pid = started.PID
	result, err := f.follow(ctx, ahead)
	if err != nil || ctx.Err() != nil {
		return err
	}
	whole := f.catchUp(ctx, result)
	f.shut()
	s.console.end()
	if !whole || f.out.hasSkipped() || f.err.hasSkipped() {
		tellWhole(s.err, result, "the output above is not complete", f.out.bytes.Load()+f.err.bytes.Load())
	}
	if result.Status == shared.StatusRunning {
		fmt.Fprintf(s.err, "[job %d goes on in the background; see :check, :wait and :kill]\n", result.PID)
		return nil
	}
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

// foreground is the command that a person waits for.
type foreground struct {
	*shell
	pid         int
	out, err    *outlet
	killed      chan account    // of the first Ctrl-C; nil: there was none
	interrupted context.Context // ends with the first Ctrl-C
	interrupt   context.CancelFunc
}

// shut shows nothing more.
func (f *foreground) shut() {
	f.out.shut()
	f.err.shut()
}

// follow waits for the end of bash and of its output. Where it was detached,
// the Result says that it is running.
func (f *foreground) follow(ctx context.Context, ahead []key) (*shared.Result, error) {
	result, err := f.attend(ctx, ahead, f.wait, f.press)
	if f.killed != nil {
		a := <-f.killed
		return a.result, a.err
	}
	return result, err
}

// quietLeftover is how long a command's last words may take where something
// goes on that could write.
const quietLeftover = 50 * time.Millisecond

func (f *foreground) wait(ctx context.Context) (*shared.Result, error) {
	result, err := f.client.Check(ctx, shared.CheckRequest{PID: f.pid, Wait: forever, Limits: nothing})
	if err != nil || result.Status == shared.StatusRunning {
		return result, err
	}
	quiet := quietEnd
	if len(result.Leftover) > 0 {
		quiet = quietLeftover
	}
	f.out.drain(f.interrupted, quiet)
	f.err.drain(f.interrupted, quiet)
	return result, nil
}

// lastWords is how long a command that a person is done with may go on to show
// what it has written: a flood has far more than anybody waits for.
const lastWords = 300 * time.Millisecond

// catchUp shows what a command has written until it was detached or killed. It
// reports whether that is all of it.
func (f *foreground) catchUp(ctx context.Context, r *shared.Result) bool {
	ctx, stop := context.WithTimeout(ctx, lastWords)
	defer stop()
	switch {
	case r.Status == shared.StatusRunning:
		out, err := f.out.reach(ctx, r.Stdout.TotalBytes, quietLeftover), f.err.reach(ctx, r.Stderr.TotalBytes, quietLeftover)
		return out && err
	case f.killed != nil:
		out, err := f.out.drain(ctx, quietEnd), f.err.drain(ctx, quietEnd)
		return out && err
	}
	return true
}

// press detaches or kills the command. Another Ctrl-C is for one that takes
// its time, or whose output does.
func (f *foreground) press(ctx context.Context, k key, stop func()) {
	switch {
	case k == keyDetach:
		stop()
	case f.killed == nil:
		f.interrupt()
		f.killed = make(chan account, 1)
		go func() { f.killed <- f.kill(ctx, syscall.SIGINT) }()
	default:
		f.shut()
		go f.kill(ctx, syscall.SIGKILL) // the first one tells the outcome
	}
}

func (f *foreground) kill(ctx context.Context, sig syscall.Signal) account {
	result, err := f.client.Kill(ctx, shared.KillRequest{PID: f.pid, Signal: sig, Limits: nothing})
	return account{result, err}
}

// forever is longer than anybody waits.
const forever = 10000 * time.Hour

// account is what a call of the plugin came to.
type account struct {
	result *shared.Result
	err    error
}

// tickTime is between two looks at the indicator.
const tickTime = 200 * time.Millisecond

// attend makes a call, and presses the keys that come in meanwhile. stop ends
// the call's context.
func (s *shell) attend(ctx context.Context, ahead []key, call func(context.Context) (*shared.Result, error), press func(ctx context.Context, k key, stop func())) (*shared.Result, error) {
	calling, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan account, 1)
	go func() {
		result, err := call(calling)
		done <- account{result, err}
	}()
	ticker := time.NewTicker(tickTime)
	defer ticker.Stop()
	for {
		for _, k := range ahead {
			press(ctx, k, stop)
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

// stopCall is for calls that any key ends.
func stopCall(_ context.Context, _ key, stop func()) { stop() }

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
