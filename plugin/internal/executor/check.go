package executor

import (
	"context"
	"regexp"
	"sync"
	"time"

	"bashplugin/plugin/internal/job"
	"bashplugin/shared"
)

// Check implements shared.Bash.
func (e *Executor) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	pattern, err := validateCheck(&req)
	if err != nil {
		return nil, err
	}
	if req.PID == shared.AllJobs {
		return e.list()
	}
	j, err := e.jobs.find(req.PID)
	if err != nil {
		return nil, err
	}
	if req.Wait > 0 {
		e.await(ctx, j, req.Wait, pattern)
	}
	return j.Result(req.Limits, req.All), nil
}

func (e *Executor) list() (*shared.Result, error) {
	jobs, err := e.jobs.all()
	if err != nil {
		return nil, err
	}
	result := &shared.Result{Jobs: make([]shared.Result, len(jobs))}
	for i, j := range jobs {
		result.Jobs[i] = *j.Summary()
	}
	return result, nil
}

// quitWait is how long a waiting Check waits for the end of its job, which
// Close brings about.
const quitWait = 2 * time.Second

// maxLooks is how many waiters look through output at a time, each at a part
// of it: a call that comes meanwhile waits for no more than these.
const maxLooks = 2

// await returns when new output matches pattern, the time is up, ctx ends or
// the job is over. Without a pattern it returns when bash has ended, too, as
// long as no Result has told so: the next call waits for what bash left behind.
func (e *Executor) await(ctx context.Context, j *job.Job, wait time.Duration, pattern *regexp.Regexp) {
	w := waiter{ctx: ctx, job: j, timer: time.NewTimer(wait), quit: e.quit}
	defer w.timer.Stop()
	if pattern == nil {
		if !j.HasToldEnd() {
			w.ended = j.Ended()
		}
		w.until(nil, nil, nil)
		return
	}
	for watch := j.Watch(pattern); w.until(e.looks, nil, nil); {
		stdout, stderr := j.OutputChanged()
		start := time.Now()
		var found, more bool
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			found, more = watch.Match()
			e.looks <- struct{}{}
		}()
		if !w.until(looked, nil, nil) {
			return // a look that is under way comes to its end alone
		}
		// Half of the time is for others, however much is written.
		if found || !w.until(nil, nil, time.After(time.Since(start))) || !more && !w.until(stdout, stderr, nil) {
			return
		}
	}
}

// waiter is what may end a Check's wait.
type waiter struct {
	ctx   context.Context
	job   *job.Job
	ended <-chan struct{} // nil: never
	timer *time.Timer
	quit  <-chan struct{} // Close begins
	late  <-chan time.Time
}

// until waits for one of the channels, and reports whether that came before the
// end of the wait.
func (w *waiter) until(a, b <-chan struct{}, c <-chan time.Time) bool {
	for {
		select {
		case <-w.job.Over():
			return false
		case <-w.ended:
			return false
		case <-w.ctx.Done():
			return false
		case <-w.timer.C:
			return false
		case <-w.late:
			return false
		case <-w.quit: // Close ends the job
			w.quit, w.late = nil, time.After(quitWait)
		case <-a:
			return true
		case <-b:
			return true
		case <-c:
			return true
		}
	}
}

// Kill implements shared.Bash.
func (e *Executor) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	if err := validateKill(&req); err != nil {
		return nil, err
	}
	if req.PID == shared.AllJobs {
		return e.killAll(req)
	}
	j, err := e.jobs.find(req.PID)
	if err != nil {
		return nil, err
	}
	return e.kill(j, req), nil
}

func (e *Executor) kill(j *job.Job, req shared.KillRequest) *shared.Result {
	if j.Running() {
		j.End(shared.CauseKill, req.Signal, req.Grace)
	}
	result := j.Result(req.Limits, true)
	if !j.Running() { // else the system does not let it end: it stays within reach
		e.jobs.forget(j)
	}
	return result
}

func (e *Executor) killAll(req shared.KillRequest) (*shared.Result, error) {
	jobs, err := e.jobs.all()
	if err != nil {
		return nil, err
	}
	result := &shared.Result{Jobs: make([]shared.Result, len(jobs))}
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			e.kill(j, req)
			result.Jobs[i] = *j.Summary()
		})
	}
	wg.Wait()
	return result, nil
}
