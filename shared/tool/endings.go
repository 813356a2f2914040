package tool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bashplugin/shared"
)

// endings append to each background command's log how the command ended, for a
// model that only reads the log. Once bash has ended they wait for what it left running,
// with a Check that counts the output as shown: another toolset over the same Bash finds
// that output only in the log.
type endings struct {
	bash shared.Bash
	ctx  context.Context // ends with close
	stop context.CancelFunc

	// mu is held while a job is added to jobs, and while ctx is ended.
	mu   sync.Mutex
	jobs sync.WaitGroup
}

func newEndings(bash shared.Bash) *endings {
	ctx, stop := context.WithCancel(context.Background())
	return &endings{bash: bash, ctx: ctx, stop: stop}
}

// follow appends the ending to a job's log once the job has ended. timeout is in words.
func (e *endings) follow(job *shared.Result, timeout string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil || job.Stdout.Path == "" {
		return
	}
	e.jobs.Go(func() {
		text := e.await(job, timeout)
		if e.ctx.Err() == nil {
			appendTo(job.Stdout.Path, "\n\n[background process "+text+"]\n")
		}
	})
}

// await waits for the job's end and returns how it ended. The text is meaningless
// if close was called first.
func (e *endings) await(job *shared.Result, timeout string) string {
	req := shared.CheckRequest{
		PID:    job.PID,
		Peek:   true,
		Wait:   time.Hour,
		Limits: shared.Limits{MaxBytes: 1},
	}
	isTold := false // a Check that is no Peek has said that bash has ended
	for {
		r, err := e.bash.Check(e.ctx, req)
		switch {
		case errors.Is(err, shared.ErrClosed):
			return "killed: the session was closed"
		case err != nil && !isForgotten(err):
			return "error: " + err.Error()
		case err != nil || !r.Started.Equal(job.Started): // its pid may have been reused
			return "killed"
		case isTold && over(r), e.ctx.Err() != nil:
			return outcome(r, timeout)
		}
		// What bash has left running may still write, and the last output may not be in the
		// log yet. A Check waits for these once another one, no Peek, has said that bash has
		// ended.
		isTold = !req.Peek
		req.Peek = r.Status == shared.StatusRunning
	}
}

func outcome(r *shared.Result, timeout string) string {
	switch {
	case r.Status == shared.StatusCompleted:
		return "completed"
	case r.Status == shared.StatusKilled && r.Cause == shared.CauseTimeout:
		return "killed: it ran for " + timeout
	case r.Status == shared.StatusKilled:
		return killed(r, 0)
	case r.Signal != "":
		return fmt.Sprintf("failed: signal: %d (%s)", r.ExitCode-128, r.Signal)
	}
	return fmt.Sprintf("failed: exit status: %d", r.ExitCode)
}

// close stops the goroutines. The logs of commands that still run get no ending.
func (e *endings) close() {
	e.mu.Lock()
	e.stop()
	e.mu.Unlock()
	e.jobs.Wait()
}
