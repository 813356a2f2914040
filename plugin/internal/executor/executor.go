package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/job"
	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Executor is a shared.Bash that runs commands on this machine.
type Executor struct {
	dir    string
	place  *os.File // dir, should it be removed
	env    []string
	bash   atomic.Pointer[string] // found in PATH by the first command
	null   *os.File
	logs   *output.Logs
	table  *process.Table
	turns  job.Turns
	start  func(process.Spec) (*process.Group, error)
	log    hclog.Logger
	jobs   registry
	looks  chan struct{} // a token for each waiter that may look through output now
	quit   chan struct{} // closed by Close
	close  sync.Once
	closed error          // what Close met
	wg     sync.WaitGroup // the goroutines that outlive their call
}

var _ shared.Bash = (*Executor)(nil)

// New returns an Executor, which Close must end.
func New(cfg Config) (*Executor, error) {
	if err := checkGlobs(cfg.DropEnv); err != nil {
		return nil, err
	}
	dir, err := sessionDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	place, _ := os.Open(dir) // nil where it may be entered, but not read
	e := &Executor{
		dir:   dir,
		place: place,
		env:   cfg.baseEnv(),
		null:  null,
		logs:  output.NewLogs(cfg.Logs),
		table: process.NewTable(cfg.Record),
		start: cfg.Start,
		log:   cfg.Logger,
		looks: make(chan struct{}, maxLooks),
		quit:  make(chan struct{}),
		turns: job.NewTurns(runtime.GOMAXPROCS(0)),
	}
	if e.start == nil {
		e.start = e.table.Start
	}
	if e.log == nil {
		e.log = hclog.NewNullLogger()
	}
	e.jobs.init()
	for range maxLooks {
		e.looks <- struct{}{}
	}
	e.wg.Go(func() { output.Sweep(cfg.Logs.Dir) })
	e.wg.Go(e.sweep)
	return e, nil
}

// sweep takes up the orphans of commands that run for long, so that none
// stays a zombie and the guardian hears of each.
func (e *Executor) sweep() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-e.quit:
			return
		case <-ticker.C:
			e.table.Sweep()
		}
	}
}

// Execute implements shared.Bash.
func (e *Executor) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	dir, err := e.validate(&req)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return &shared.Result{
			Command: req.Command, Dir: dir, Started: time.Now(),
			Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1,
		}, nil
	}
	if err := e.jobs.enter(); err != nil {
		return nil, err
	}
	defer e.jobs.leave()
	j, err := e.launch(req, dir)
	if err != nil {
		return nil, err
	}
	result := e.attend(ctx, j, req)
	e.settleLive(ctx, j, req)
	return result, nil
}

// liveRest is how long Execute waits for a slow live writer. The host waits as
// long for what is on its way.
const liveRest = 500 * time.Millisecond

// settleLive waits for the live writers: those of a lossless copy may take as
// long as the command.
func (e *Executor) settleLive(ctx context.Context, j *job.Job, req shared.ExecuteRequest) {
	rest := liveRest
	if req.Lossless && !j.Running() {
		rest = max(rest, req.Timeout-time.Since(j.Started))
	}
	j.SettleLive(ctx, rest)
}

// launch starts a command within the bounds.
func (e *Executor) launch(req shared.ExecuteRequest, dir string) (*job.Job, error) {
	number, err := e.jobs.reserve()
	if err != nil {
		return nil, err
	}
	bash, err := e.findBash()
	if err != nil {
		e.jobs.release()
		return nil, err
	}
	env := override(append(make([]string, 0, len(e.env)+len(req.Env)+2), e.env...), req.Env)
	j, err := job.Start(job.Config{
		Start: e.start,
		Logs:  e.logs,
		Bash:  bash,
		Null:  e.null,
		Dir:   dir,
		Place: e.placeOf(dir),
		Turns: e.turns,
		Env:   override(env, []string{"PWD=" + dir}),
		Name:  fmt.Sprintf("%d", number),
	}, req)
	if err != nil {
		e.jobs.release()
		e.bash.Store(nil) // it may have moved
		return nil, startError(err, bash, dir)
	}
	e.jobs.running(j)
	e.wg.Go(func() {
		<-j.Over()
		e.jobs.ended(j)
		if e.log.IsInfo() {
			e.log.Info("command", j.Log()...)
		}
	})
	return j, nil
}

func (e *Executor) findBash() (string, error) {
	if path := e.bash.Load(); path != nil {
		return *path, nil
	}
	path, err := exec.LookPath("bash")
	if _, set := os.LookupEnv("PATH"); err != nil && !set {
		path, err = exec.LookPath("/bin/bash") // whose own PATH is the system's then
	}
	if err != nil {
		return "", fail(shared.CodeStart, "cannot find bash in PATH (%s): install bash, or start the host with a PATH that has it", os.Getenv("PATH"))
	}
	e.bash.Store(&path)
	return path, nil
}

// startError says what is wrong in terms of what the caller can change.
func startError(err error, bash, dir string) error {
	switch {
	case checkDir(dir) != nil:
		return fail(shared.CodeStart, "cannot run in %q: %v", dir, checkDir(dir))
	case errors.Is(err, syscall.E2BIG):
		return fail(shared.CodeStart, "cannot start bash: the environment is too large for the system")
	case errors.Is(err, syscall.EAGAIN):
		return fail(shared.CodeStart, "cannot start bash: the system allows no more processes; end some and try again")
	}
	return fail(shared.CodeStart, "cannot start %s: %v", bash, err)
}

// attend waits for what the request's mode waits for.
func (e *Executor) attend(ctx context.Context, j *job.Job, req shared.ExecuteRequest) *shared.Result {
	if req.Mode == shared.ModeBackground {
		e.limit(j, req.Timeout)
		return e.background(j, req.Limits)
	}
	timer := time.NewTimer(req.Timeout)
	defer timer.Stop()
	ripe := e.ripe(j, req)
	defer ripe.stop()
	select {
	case <-j.Ended():
	case <-ctx.Done():
		e.stop(j, shared.CauseCancel)
	case <-e.quit: // Close ends it
		select {
		case <-j.Over():
		case <-time.After(quitWait):
		}
	case <-ripe.c:
		return e.detach(j, req.Limits)
	case <-timer.C:
		if req.Mode == shared.ModeDetach {
			return e.detach(j, req.Limits)
		}
		e.stop(j, shared.CauseTimeout)
	}
	return e.finish(j, req.Limits)
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

// background is detach for a job that nobody waited for. What it has written by
// chance already is left to Check, which may wait for it.
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
		case <-e.quit:
		case <-timer.C:
			j.End(shared.CauseTimeout, syscall.SIGTERM, stopGrace)
		}
	})
}

// Close ends every command and returns when nothing of them is left. Calls
// under way return, later ones fail with ErrClosed.
func (e *Executor) Close() error {
	e.close.Do(func() {
		var err error
		running := e.jobs.shut()
		close(e.quit)
		var wg sync.WaitGroup
		for _, j := range running {
			wg.Go(func() { j.End(shared.CauseClose, syscall.SIGTERM, stopGrace) })
		}
		wg.Wait()
		e.jobs.calls.Wait()
		if !e.table.Close() {
			err = errors.New("a process could not be ended: it hangs in the kernel, or runs as another user")
		} else {
			e.wg.Wait()
		}
		e.closed = errors.Join(err, e.logs.Close(), e.null.Close())
		e.place.Close()
	})
	return e.closed
}
