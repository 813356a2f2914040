package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"bashplugin/shared"
)

// endings write, at the end of each background command's log, how it ended: a
// model that only reads the log learns it there. They wait with Check, which
// counts as having shown the command's output: another toolset over the same
// Bash reads it from the log.
type endings struct {
	bash shared.Bash
	ctx  context.Context // ends with close
	stop context.CancelFunc

	mu     sync.Mutex // guards closed, and wg against a close in between
	closed bool
	wg     sync.WaitGroup // one goroutine for each command that runs
}

func newEndings(bash shared.Bash) *endings {
	ctx, stop := context.WithCancel(context.Background())
	return &endings{bash: bash, ctx: ctx, stop: stop}
}

// follow writes the ending of a job when it comes.
func (e *endings) follow(r *shared.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || r.Stdout.Path == "" {
		return
	}
	e.wg.Go(func() {
		if text := e.await(r); text != "" {
			_ = appendTo(r.Stdout.Path, "\n\n["+text+"]\n") // a log that is gone needs no ending
		}
	})
}

// await returns how the job ended, "" where nobody can know.
func (e *endings) await(job *shared.Result) string {
	ended := false
	for e.ctx.Err() == nil {
		r, err := e.bash.Check(e.ctx, shared.CheckRequest{PID: job.PID, Wait: time.Hour, Limits: shared.Limits{MaxBytes: 1}})
		switch {
		case e.ctx.Err() != nil:
		case errors.Is(err, shared.ErrNotFound) && !errors.Is(err, shared.ErrCrashed):
			return "background process killed"
		case errors.Is(err, shared.ErrClosed):
			return "background process killed: the session was closed"
		case err != nil:
			return "background process error: " + err.Error()
		case !r.Started.Equal(job.Started): // its pid is a later command's
			return "background process killed"
		case over(r) && ended:
			return outcome(r)
		default:
			// What it left running may have ended a moment ago, and its last
			// output be on the way: another Check waits for that.
			ended = over(r)
		}
	}
	return ""
}

func outcome(r *shared.Result) string {
	switch {
	case r.Status == shared.StatusCompleted:
		return "background process completed"
	case r.Status == shared.StatusKilled && r.Cause == shared.CauseTimeout:
		return "background process killed: it ran for 24 hours"
	case r.Status == shared.StatusKilled && r.Cause == shared.CauseClose:
		return "background process killed: the session was closed"
	case r.Status == shared.StatusKilled:
		return "background process killed"
	case r.Signal != "":
		return fmt.Sprintf("background process failed: signal: %d (%s)", r.ExitCode-128, r.Signal)
	}
	return fmt.Sprintf("background process failed: exit status: %d", r.ExitCode)
}

// appendTo writes at the end of a file that exists.
func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// close stops the waiting. Commands that still run get no ending.
func (e *endings) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop()
	e.wg.Wait()
}
