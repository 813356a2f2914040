package executor

import (
	"context"
	"errors"
	"syscall"
	"time"

	"bashplugin/plugin/internal/job"
	"bashplugin/shared"
)

const (
	// autoDelay is how long a development command runs in the foreground, in
	// ModeAuto. From then on it is checked for output every autoLook.
	autoDelay = 2 * time.Second
	autoLook  = 100 * time.Millisecond
	// stopGrace is the time between SIGTERM and SIGKILL at a timeout, a cancel and Close.
	stopGrace = 500 * time.Millisecond
	// quitWait bounds how long a call waits for the last process of a job that this
	// tool is ending.
	quitWait = 2 * time.Second
)

// decision is how Execute leaves a command.
type decision int

const (
	ended      decision = iota // bash has ended
	detached                   // it goes on as a job, without a timeout
	letRun                     // it goes on as a job, with the timeout of its mode
	background                 // Execute does not wait for it
)

// attend waits as the request's mode says, and ends the command if the mode or the caller asks for
// that.
func (e *Executor) attend(ctx context.Context, j *job.Job, req shared.ExecuteRequest) decision {
	if !req.Mode.Waits() {
		return background
	}
	timeout := time.After(req.Timeout)
	var ripe <-chan time.Time // nil, so never, for other commands and in other modes
	if req.Mode == shared.ModeAuto && isDevCommand(req.Command) {
		ripe = time.After(autoDelay)
	}
	for {
		select {
		case <-j.Ended():
			return ended
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), shared.ErrLetRun) && !j.HasEnded() {
				return letRun
			}
			e.stop(ctx, j, shared.CauseCancel)
			return ended
		case <-e.life.Done(): // Close ends the command
			awaitOver(context.Background(), j)
			return ended
		case <-ripe:
			if j.HasOutput() {
				return detached
			}
			ripe = time.After(autoLook)
		case <-timeout:
			if req.Mode == shared.ModeDetach {
				return detached
			}
			e.stop(ctx, j, shared.CauseTimeout)
			return ended
		}
	}
}

// stop ends a command. If bash has just ended by itself, stop ends the left-over processes only at
// a cancel. At a timeout, or if the caller has only stopped waiting (ErrLetRun), they become a job.
func (e *Executor) stop(ctx context.Context, j *job.Job, cause shared.Cause) {
	if j.HasEnded() {
		<-j.Ended()
		leave := cause == shared.CauseTimeout || errors.Is(context.Cause(ctx), shared.ErrLetRun)
		if leave || !j.Running() {
			return
		}
	}
	j.End(cause, syscall.SIGTERM, stopGrace)
}

// account makes a job of a command that goes on or has left processes behind, and returns
// the Result.
func (e *Executor) account(ctx context.Context, j *job.Job, req shared.ExecuteRequest, how decision) *shared.Result {
	if how == ended && !e.leavesJob(j) {
		return j.Result(req.Limits, job.View{})
	}
	j.Keep()
	e.jobs.add(j)
	if how == background || how == letRun && req.Mode != shared.ModeDetach {
		e.limit(j, req.Timeout)
	}
	if how == background {
		r := j.Outline() // the first output is left for Check, even if some has come by chance already
		if r.Status == shared.StatusRunning {
			return r
		}
		return j.Result(req.Limits, job.View{}) // the caller may never call Check
	}
	r := j.Result(req.Limits, viewFor(ctx))
	if how == ended && len(r.Leftover) == 0 && !j.Running() { // the last process has just ended
		e.jobs.forget(j)
	}
	return r
}

// leavesJob reports whether a command whose bash has ended left processes behind, except
// those that this tool is ending.
func (e *Executor) leavesJob(j *job.Job) bool {
	leaves := j.LeavesProcesses()
	if leaves && j.Summary().Exceeded != "" {
		awaitOver(context.Background(), j)
		return j.LeavesProcesses()
	}
	return leaves
}

// viewFor says what the Result of a call with this context shows. If the caller has stopped waiting
// and does not read the Result, its output does not count as shown.
func viewFor(ctx context.Context) job.View {
	cause := context.Cause(ctx)
	return job.View{Peek: errors.Is(cause, shared.ErrLetRun) && !errors.Is(cause, shared.ErrDetach)}
}

// limit ends a job at its timeout, counted from its start; 0: there is none.
func (e *Executor) limit(j *job.Job, timeout time.Duration) {
	if timeout == 0 {
		return
	}
	e.wg.Go(func() {
		select {
		case <-j.Over():
		case <-e.life.Done():
		case <-time.After(time.Until(j.Started.Add(timeout))):
			j.End(shared.CauseTimeout, syscall.SIGTERM, stopGrace)
		}
	})
}

// awaitOver waits for the end of a job that this tool is ending, up to quitWait.
func awaitOver(ctx context.Context, j *job.Job) {
	select {
	case <-j.Over():
	case <-ctx.Done():
	case <-time.After(quitWait):
	}
}
