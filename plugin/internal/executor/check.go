package executor

import (
	"context"
	"regexp"

	"bashplugin/plugin/internal/job"
	"bashplugin/shared"
)

// Check implements shared.Bash.
func (e *Executor) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	if err := req.Normalize(); err != nil {
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
	matched := false
	if req.Wait > 0 {
		matched = e.await(ctx, j, req)
	}
	if err := j.Failure(); err != nil {
		return nil, err
	}
	result := j.Result(req.Limits, job.View{All: req.All, Peek: req.Peek})
	result.Matched = matched
	return result, nil
}

// Unseen makes the output of a Result count as not shown: the host gave the call up and never saw
// the Result.
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
	result := &shared.Result{Jobs: make(shared.JobList, len(jobs))}
	for i, j := range jobs {
		result.Jobs[i] = *j.Summary()
	}
	return result, nil
}

// await waits as a request asks for. It returns true if output matches the pattern.
func (e *Executor) await(ctx context.Context, j *job.Job, req shared.CheckRequest) (matched bool) {
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	defer cancel()
	if req.WaitFor == "" {
		e.awaitEnd(ctx, j)
		return false
	}
	pattern := regexp.MustCompile("(?m)" + req.WaitFor) // Normalize has compiled it without (?m)
	return e.awaitMatch(ctx, j, j.Watch(pattern, req.All))
}

// awaitEnd returns when bash has ended or, if a Result has said so before, when the left-over
// processes have; or when ctx ends.
func (e *Executor) awaitEnd(ctx context.Context, j *job.Job) {
	ended := j.Ended()
	if j.HasToldEnd() {
		ended = nil
	}
	hasEnded := e.until(ctx, j, ended, nil)
	if hasEnded && j.Summary().Cause != "" {
		awaitOver(ctx, j) // this tool is ending the left-over processes, too
	}
}

// awaitMatch returns true when output matches, and false when ctx ends or the job is over.
func (e *Executor) awaitMatch(ctx context.Context, j *job.Job, watch *job.Watch) (matched bool) {
	for ctx.Err() == nil {
		stdout, stderr := j.OutputChanged()
		over := !j.Running() // read before the search, so that the last search sees all output
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
