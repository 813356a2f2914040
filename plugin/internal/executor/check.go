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
	e.floods.Called()
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

// await returns when new output matches pattern, the time is up, ctx ends or
// the job is over. Without a pattern it returns when bash has ended, too, as
// long as no Result has told so: the next call waits for what bash left behind.
func (e *Executor) await(ctx context.Context, j *job.Job, wait time.Duration, pattern *regexp.Regexp) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var watch *job.Watch
	var ended <-chan struct{}
	if pattern != nil {
		watch = j.Watch(pattern)
	} else if !j.HasToldEnd() {
		ended = j.Ended()
	}
	quit, late := e.quit, (<-chan time.Time)(nil)
	for {
		var stdout, stderr <-chan struct{}
		if watch != nil {
			stdout, stderr = j.OutputChanged()
			if watch.Match() {
				return
			}
		}
		select {
		case <-j.Over():
			return
		case <-ended:
			return
		case <-ctx.Done():
			return
		case <-quit: // Close ends the job
			quit, late = nil, time.After(quitWait)
		case <-late:
			return
		case <-timer.C:
			return
		case <-stdout:
		case <-stderr:
		}
	}
}

// Kill implements shared.Bash.
func (e *Executor) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	e.floods.Called()
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
