// Package executor is the contract, shared.Bash, over jobs: it checks
// requests, runs commands, decides when one becomes a background job, and
// keeps the jobs until they are killed or evicted.
package executor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/job"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Executor is a shared.Bash that runs commands on this machine.
type Executor struct {
	launcher *launcher
	table    *process.Table
	shared   bool // the table belongs to the caller
	log      hclog.Logger
	jobs     registry

	// search holds a value during a search through output.
	search chan struct{}

	life context.Context // ends when Close begins
	quit context.CancelFunc

	// wg counts goroutines that outlive the call that started them.
	wg sync.WaitGroup

	close  sync.Once
	closed error // the result of Close
}

var _ shared.Bash = (*Executor)(nil)

// New returns an Executor, which the caller must Close.
func New(cfg Config) (*Executor, error) {
	e := &Executor{table: cfg.Table, shared: cfg.Table != nil, log: cfg.Logger, search: make(chan struct{}, 1)}
	if !e.shared {
		e.table = process.NewTable(cfg.Guardian)
	}
	e.jobs.live = make(map[*job.Job]bool)
	e.jobs.jobs = make(map[int]*job.Job)
	e.life, e.quit = context.WithCancel(context.Background())
	if e.log == nil {
		e.log = hclog.NewNullLogger()
	}
	start := cfg.Start
	if start == nil {
		start = e.table.Start
	}
	var err error
	e.launcher, err = newLauncher(cfg, e.log, start)
	if err != nil {
		return nil, err
	}
	e.wg.Go(e.launcher.logs.Sweep)
	return e, nil
}

// Execute implements shared.Bash.
func (e *Executor) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	dir, err := e.normalize(&req)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return &shared.Result{
			Command: req.Command, Dir: dir, Started: time.Now(),
			Status: shared.StatusKilled, Cause: shared.CauseCancel, ExitCode: -1,
		}, nil
	}
	number, err := e.jobs.reserve()
	if err != nil {
		return nil, err
	}
	defer e.jobs.calls.Done()
	j, err := e.launch(req, dir, number)
	if err != nil {
		return nil, err
	}
	how := e.attend(ctx, j, req)
	result := e.account(ctx, j, req, how)
	e.awaitLive(ctx, j, req)
	if err := j.Failure(); err != nil {
		return nil, err
	}
	return result, nil
}

// launch starts a command that has a reservation.
func (e *Executor) launch(req shared.ExecuteRequest, dir string, number int) (*job.Job, error) {
	j, err := e.launcher.launch(req, dir, number)
	e.jobs.fill(j)
	if err != nil {
		return nil, err
	}
	e.wg.Go(func() {
		<-j.Over()
		e.jobs.ended(j)
		if e.log.IsInfo() {
			e.log.Info("command", j.Log()...)
		}
		<-j.Released()
	})
	return j, nil
}

// liveRest is how long Execute waits for a slow live writer. The host then waits equally long for
// the bytes that are still on their way.
const liveRest = 500 * time.Millisecond

// awaitLive waits for the live writers. It waits for a lossless copy until the
// request's Timeout, unless the call or the session ends first.
func (e *Executor) awaitLive(ctx context.Context, j *job.Job, req shared.ExecuteRequest) {
	if req.Lossless && !j.Running() {
		patient, cancel := context.WithTimeout(ctx, req.Timeout-time.Since(j.Started))
		defer cancel()
		defer context.AfterFunc(e.life, cancel)()
		j.AwaitLive(patient)
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveRest)
	defer cancel()
	j.AwaitLive(rest)
}

// Close ends every command and returns when nothing of them is left. Calls
// under way return, later ones fail with ErrClosed.
func (e *Executor) Close() error {
	e.close.Do(func() {
		running := e.jobs.shut()
		e.quit()
		var wg sync.WaitGroup
		for _, j := range running {
			wg.Go(func() { j.End(shared.CauseClose, syscall.SIGTERM, stopGrace) })
		}
		wg.Wait()
		e.jobs.calls.Wait()
		gone := !slices.ContainsFunc(running, (*job.Job).Running)
		if !e.shared {
			gone = e.table.Close()
		}
		if gone {
			e.wg.Wait()
		} else {
			e.closed = errors.New("a process could not be ended: it hangs in the kernel, or runs as another user")
		}
		e.closed = errors.Join(e.closed, e.launcher.close())
	})
	return e.closed
}
