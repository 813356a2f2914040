package executor

import (
	"context"
	"syscall"
	"time"

	"bashplugin/plugin/internal/job"
	"bashplugin/shared"
)

// rules are what Execute does in a mode. Package shared has the modes' names,
// and whether Execute waits in them at all.
type rules struct {
	detaches bool // at the timeout the command goes on as a job; otherwise it is killed
	ripens   bool // a development command becomes a job by itself
}

func rulesOf(mode shared.Mode) rules {
	return rules{detaches: mode == shared.ModeDetach, ripens: mode == shared.ModeAuto}
}

const (
	// autoDelay is how long a development command runs in the foreground, in
	// ModeAuto. If it has written nothing by then, autoLook is between two looks.
	autoDelay = 2 * time.Second
	autoLook  = 100 * time.Millisecond
	// stopGrace is between SIGTERM and SIGKILL at a timeout, a cancel and Close.
	stopGrace = 500 * time.Millisecond
	// quitWait bounds how long a call waits for the rest of a job that this tool
	// is ending.
	quitWait = 2 * time.Second
)

// attend waits for what the request's mode waits for.
func (e *Executor) attend(ctx context.Context, j *job.Job, req shared.ExecuteRequest) *shared.Result {
	if !req.Mode.Waits() {
		e.limit(j, req.Timeout)
		return e.background(j, req.Limits)
	}
	timer := time.NewTimer(req.Timeout)
	defer timer.Stop()
	var ripe <-chan time.Time // never, for other commands and in other modes
	if rulesOf(req.Mode).ripens && isDevCommand(req.Command) {
		ripe = time.After(autoDelay)
	}
	for {
		select {
		case <-j.Ended():
		case <-ctx.Done():
			e.stop(j, shared.CauseCancel)
		case <-e.life.Done(): // Close ends the command
			awaitOver(context.Background(), j)
		case <-ripe:
			if j.HasOutput() {
				return e.detach(j, req.Limits)
			}
			ripe = time.After(autoLook)
			continue
		case <-timer.C:
			if rulesOf(req.Mode).detaches {
				return e.detach(j, req.Limits)
			}
			e.stop(j, shared.CauseTimeout)
		}
		return e.finish(j, req.Limits)
	}
}

// stop ends a command. Where bash has just ended by itself, what it left behind
// ends with a call that is cancelled, and is a job at the timeout.
func (e *Executor) stop(j *job.Job, cause shared.Cause) {
	if j.HasEnded() {
		if <-j.Ended(); cause != shared.CauseCancel || !j.Running() {
			return
		}
	}
	j.End(cause, syscall.SIGTERM, stopGrace)
}

// detach turns a running command into a job.
func (e *Executor) detach(j *job.Job, limits shared.Limits) *shared.Result {
	j.Keep()
	e.jobs.add(j)
	return j.Result(limits, false)
}

// background is detach without waiting: what the command has written by chance
// already is left to Check, which may wait for it.
func (e *Executor) background(j *job.Job, limits shared.Limits) *shared.Result {
	j.Keep()
	e.jobs.add(j)
	if j.Running() {
		return j.Outline()
	}
	return j.Result(limits, false)
}

// finish returns the Result of a command whose bash has ended. What it left
// behind makes it a job.
func (e *Executor) finish(j *job.Job, limits shared.Limits) *shared.Result {
	if !j.HasLeftover() {
		return j.Result(limits, false)
	}
	r := e.detach(j, limits)
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
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case <-j.Over():
		case <-e.life.Done():
		case <-timer.C:
			j.End(shared.CauseTimeout, syscall.SIGTERM, stopGrace)
		}
	})
}

// awaitOver waits for the end of a job that this tool is ending, for a while.
func awaitOver(ctx context.Context, j *job.Job) {
	timer := time.NewTimer(quitWait)
	defer timer.Stop()
	select {
	case <-j.Over():
	case <-ctx.Done():
	case <-timer.C:
	}
}
