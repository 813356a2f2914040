package executor

import (
	"context"
	"slices"
	"sync"

	"bashplugin/plugin/internal/job"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Kill implements shared.Bash.
func (e *Executor) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	if req.Signal < 0 || req.Signal != 0 && process.SignalName(req.Signal) == "" {
		return nil, invalid("Signal", "%d does not exist: use 0 for SIGTERM, or a signal of this system",
			int(req.Signal))
	}
	if err := req.Normalize(); err != nil {
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
	result := &shared.Result{Jobs: make(shared.JobList, len(jobs))}
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
