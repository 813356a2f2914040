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

// attend waits as the request's mode says.
func (e *Executor) attend(ctx context.Context, j *job.Job, req shared.ExecuteRequest) *shared.Result {
	if !req.Mode.Waits() {
		e.limit(j, req.Timeout)
		return e.background(j, req.Limits)
	}
	timeout := time.After(req.Timeout)
	var ripe <-chan time.Time // nil, so never, for other commands and in other modes
	if req.Mode == shared.ModeAuto && isDevCommand(req.Command) {
		ripe = time.After(autoDelay)
	}
	for {
		select {
		case <-j.Ended():
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), shared.ErrLetRun) {
				return e.letRun(ctx, j, req)
			}
			e.stop(j, shared.CauseCancel)
		case <-e.life.Done(): // Close ends the command
			awaitOver(context.Background(), j)
		case <-ripe:
			if j.HasOutput() {
				return e.detach(ctx, j, req.Limits)
			}
			ripe = time.After(autoLook)
			continue
		case <-timeout:
			if req.Mode == shared.ModeDetach {
				return e.detach(ctx, j, req.Limits)
			}
			e.stop(j, shared.CauseTimeout)
		}
		return e.finish(ctx, j, req.Limits)
	}
}

// stop ends a command. If bash has just ended by itself, stop ends the left-over
// processes at a cancel; at a timeout they are left to become a job.
func (e *Executor) stop(j *job.Job, cause shared.Cause) {
	if j.HasEnded() {
		if <-j.Ended(); cause != shared.CauseCancel || !j.Running() {
			return
		}
	}
	j.End(cause, syscall.SIGTERM, stopGrace)
}

// detach turns a running command into a job.
func (e *Executor) detach(ctx context.Context, j *job.Job, limits shared.Limits) *shared.Result {
	j.Keep()
	e.jobs.add(j)
	return j.Result(limits, viewFor(ctx))
}

// viewFor says what the Result of a call with this context shows. If nobody reads the
// Result, because the caller waits no longer, its output does not count as shown.
func viewFor(ctx context.Context) job.View {
	cause := context.Cause(ctx)
	return job.View{Peek: errors.Is(cause, shared.ErrLetRun) && !errors.Is(cause, shared.ErrDetach)}
}

// letRun is detach for a caller that waits no longer: a mode that kills keeps its
// timeout.
func (e *Executor) letRun(ctx context.Context, j *job.Job, req shared.ExecuteRequest) *shared.Result {
	if j.HasEnded() {
		<-j.Ended()
		return e.finish(ctx, j, req.Limits)
	}
	if req.Mode != shared.ModeDetach {
		e.limit(j, max(1, time.Until(j.Started.Add(req.Timeout))))
	}
	return e.detach(ctx, j, req.Limits)
}

// background is detach in ModeBackground: the first output is left for Check, even if
// some has come by chance already.
func (e *Executor) background(j *job.Job, limits shared.Limits) *shared.Result {
	j.Keep()
	e.jobs.add(j)
	if r := j.Outline(); r.Status == shared.StatusRunning {
		return r
	}
	return j.Result(limits, job.View{}) // its caller may not look again
}

// finish returns the Result of a command whose bash has ended. The command becomes a
// job if it left processes behind.
func (e *Executor) finish(ctx context.Context, j *job.Job, limits shared.Limits) *shared.Result {
	left := j.HasLeftover()
	if left && j.Summary().Exceeded != "" {
		awaitOver(context.Background(), j) // this tool is ending all of it
		left = j.HasLeftover()
	}
	if !left {
		return j.Result(limits, job.View{})
	}
	r := e.detach(ctx, j, limits)
	if len(r.Leftover) == 0 && !j.Running() { // it has just ended
		e.jobs.forget(j)
	}
	return r
}

// limit ends a background job at its timeout.
func (e *Executor) limit(j *job.Job, timeout time.Duration) {
	if timeout == 0 {
		return
	}
	e.wg.Go(func() {
		select {
		case <-j.Over():
		case <-e.life.Done():
		case <-time.After(timeout):
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
