package executor

import (
	"context"
	"regexp"
	"slices"
	"sync"

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
	if req.Input != "" || req.CloseInput {
		if err := j.Write(req.Input, req.CloseInput); err != nil {
			return nil, invalid("Input", "cannot be written: %v", err)
		}
	}
	matched := req.Wait > 0 && e.await(ctx, j, req, pattern)
	if err := j.Failure(); err != nil {
		return nil, err
	}
	result := j.Result(req.Limits, job.View{All: req.All, Peek: req.Peek})
	result.Matched = matched
	return result, nil
}

// Unseen takes back that output was shown: the host has given the call up, and has not seen this Result.
func (e *Executor) Unseen(result *shared.Result) {
	j, err := e.jobs.find(result.PID)
	if err == nil && j.PID == result.PID && j.Started.Equal(result.Started) {
		j.Unsee(result)
	}
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

// await returns when output matches pattern (then it returns true), the time is up,
// ctx ends or the job is over. Without a pattern it also returns when bash has ended,
// unless a Result has said so before: then it waits for the left-over processes.
func (e *Executor) await(ctx context.Context, j *job.Job, req shared.CheckRequest, pattern *regexp.Regexp) (matched bool) {
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	defer cancel()
	if pattern == nil {
		ended := j.Ended()
		if j.HasToldEnd() {
			ended = nil
		}
		if e.until(ctx, j, ended, nil) && j.Summary().Cause != "" {
			awaitOver(ctx, j) // this tool is ending the left-over processes, too
		}
		return false
	}
	for watch := j.Watch(pattern, req.All); ctx.Err() == nil; {
		stdout, stderr := j.OutputChanged()
		over := !j.Running() // before the search, which then is the last one
		found, more := e.searchNext(ctx, j, watch)
		switch {
		case found:
			return true
		case more:
		case over:
			return false
		default:
			e.until(ctx, j, stdout, stderr)
		}
	}
	return false
}

// searchNext searches the next part of the output for a match. One search at a time runs:
// an expression may be slow, and other calls need a processor. If ctx ends meanwhile,
// searchNext returns; the abandoned search finishes and is dropped.
func (e *Executor) searchNext(ctx context.Context, j *job.Job, watch *job.Watch) (found, more bool) {
	select {
	case e.search <- struct{}{}:
	case <-ctx.Done():
		return false, false
	}
	type answer struct{ found, more bool }
	done := make(chan answer, 1)
	go j.Guard(func() {
		defer func() { <-e.search }()
		defer close(done)
		found, more := watch.Match()
		done <- answer{found, more}
	})
	select {
	case a := <-done:
		return a.found, a.more
	case <-ctx.Done():
		return false, false
	}
}

// until waits for one of two channels. It returns false if the job or the wait is
// over first.
func (e *Executor) until(ctx context.Context, j *job.Job, a, b <-chan struct{}) bool {
	select {
	case <-a:
		return true
	case <-b:
		return true
	case <-j.Over():
	case <-ctx.Done():
	case <-e.life.Done():
		awaitOver(ctx, j)
	}
	return false
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
	result := e.kill(j, req)
	if err := j.Failure(); err != nil {
		return nil, err
	}
	return result, nil
}

func (e *Executor) kill(j *job.Job, req shared.KillRequest) *shared.Result {
	processes := j.Processes()
	if j.Running() {
		j.End(shared.CauseKill, req.Signal, req.Grace)
	}
	result := j.Result(req.Limits, job.View{All: true})
	result.Ended = slices.DeleteFunc(processes, func(p shared.Process) bool {
		return slices.ContainsFunc(result.Leftover, func(left shared.Process) bool { return left.PID == p.PID })
	})
	if !j.Running() { // otherwise the system does not let it end: it can be killed again
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
			j.Guard(func() {
				ended := e.kill(j, req).Ended
				result.Jobs[i] = *j.Summary()
				result.Jobs[i].Ended = ended
			})
		})
	}
	wg.Wait()
	return result, nil
}
