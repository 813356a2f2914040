package job

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Starter starts a command's processes.
type Starter func(process.Spec) (*process.Group, error)

// Config is what a Job needs besides its request.
type Config struct {
	Start  Starter
	Logs   *output.Logs
	Bash   string   // path of bash
	Null   *os.File // open for reading, the command's stdin
	Dir    string   // absolute
	Place  string   // a path to it
	Env    []string
	Floods *Floods
	Name   string // of the log files, which end in .stdout.log and .stderr.log
}

// Job is one command, from its start to the end of the last process that it
// left behind. It is safe for concurrent use.
type Job struct {
	PID     int
	Started time.Time
	req     shared.ExecuteRequest
	dir     string

	group          *process.Group
	sources        []*source
	stdout, stderr *output.Stream // stderr is nil where it is merged into stdout
	live           *live

	ended chan struct{} // bash has ended and what it wrote is read: outcome is set
	over  chan struct{} // nothing of the job lives, everything is read

	toldEnd atomic.Bool // a Result has said that bash has ended

	mu      sync.Mutex    // guards what follows
	ends    int           // how many calls of End are under way
	ending  chan struct{} // closed when there is none any more
	cause   shared.Cause
	deadly  bool // bash cannot exit because of the signal that cause sent
	outcome outcome
}

// outcome is how bash ended.
type outcome struct {
	ended    bool
	status   process.Status
	cause    shared.Cause // why this tool ended it, if it did
	duration time.Duration
}

// Start starts a command. The request must be valid.
func Start(cfg Config, req shared.ExecuteRequest) (*Job, error) {
	j := &Job{req: req, dir: cfg.Dir, ended: make(chan struct{}), over: make(chan struct{})}
	files, err := j.open(cfg)
	if err == nil {
		j.group, err = start(cfg, files, req.Command)
	}
	for _, f := range files[1:] {
		f.Close() // the command has its own by now; stdout and stderr may be one file, or missing
	}
	if err != nil {
		j.abandon()
		return nil, err
	}
	j.PID, j.Started = j.group.PID, j.group.Started
	j.req.Env, j.req.Stdout, j.req.Stderr = nil, nil, nil // the job may be kept for long
	for i, s := range j.sources {
		s.writer = writer{j.PID, 1 + i}
		go s.run()
	}
	go j.follow()
	return j, nil
}

func start(cfg Config, files []*os.File, command string) (*process.Group, error) {
	spec := process.Spec{Path: cfg.Bash, Dir: cfg.Place, Env: cfg.Env, Files: files}
	script, err := arguments(&spec, command)
	if err != nil {
		return nil, err
	}
	defer script.Close() // of a short command it is nil, and this does nothing
	return cfg.Start(spec)
}

// open makes the pipes and what follows them. It returns the command's files.
func (j *Job) open(cfg Config) ([]*os.File, error) {
	stdout := &track{stream: j.newStream(cfg, ".stdout.log"), to: j.req.Stdout}
	stderr := &track{to: j.req.Stderr, number: 1}
	if !j.req.Merge {
		stderr.stream = j.newStream(cfg, ".stderr.log")
	}
	j.stdout, j.stderr = stdout.stream, stderr.stream
	if stdout.to != nil || stderr.to != nil {
		j.live = newLive(cfg.Floods, cfg.Logs.NewSpool(), stdout, stderr)
		stdout.live, stderr.live = j.live, j.live
	}
	out, err := j.pipe(cfg, stdout)
	if err != nil || j.req.Merge {
		return []*os.File{cfg.Null, out, out}, err
	}
	errs, err := j.pipe(cfg, stderr)
	return []*os.File{cfg.Null, out, errs}, err
}

func (j *Job) newStream(cfg Config, name string) *output.Stream {
	limits := j.req.Limits
	return output.NewStream(output.StreamConfig{Logs: cfg.Logs, Name: cfg.Name + name, Tail: limits.MaxBytes, Head: limits.Ends})
}

func (j *Job) pipe(cfg Config, t *track) (*os.File, error) {
	s, write, err := newSource(cfg.Floods, t.write, t.pause)
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	j.sources = append(j.sources, s)
	return write, nil
}

// abandon gives up what a command that did not start would have used.
func (j *Job) abandon() {
	for _, s := range j.sources {
		s.release()
	}
	j.live.end()
}

// drain reads what was written so far.
func (j *Job) drain() {
	for _, s := range j.sources {
		s.drain()
	}
}

// follow sees the command through.
func (j *Job) follow() {
	<-j.group.Exited()
	duration := time.Since(j.Started)
	j.drain()
	left := j.group.LeftBehind()
	if left {
		j.drain() // what was relayed meanwhile
	} else {
		j.finish()
	}
	j.mu.Lock()
	j.outcome = outcome{ended: true, status: j.group.Status(), cause: j.cause, duration: duration}
	if j.deadly && j.outcome.status.Signal == 0 {
		j.outcome.cause = "" // it was exiting by itself
	}
	j.mu.Unlock()
	if !left {
		close(j.over)
	}
	close(j.ended)
	if left {
		<-j.group.Gone()
		j.finish()
		close(j.over)
	}
}

// finish reads the rest and closes the streams. Nothing of the job lives, so
// that nobody is harmed where a pipe has another writer still.
func (j *Job) finish() {
	j.drain()
	for _, s := range j.sources {
		s.close()
	}
	_ = j.stdout.Close()
	if j.stderr != nil {
		_ = j.stderr.Close()
	}
	j.live.end()
}

// Ended is closed when bash has ended and everything it wrote was read.
func (j *Job) Ended() <-chan struct{} { return j.ended }

// HasEnded reports whether bash has ended, even where Ended is not closed yet.
func (j *Job) HasEnded() bool { return !j.group.LeaderLives() }

// Over is closed when, besides, everything it left behind has ended.
func (j *Job) Over() <-chan struct{} { return j.over }

// Running reports whether bash or something it left behind lives.
func (j *Job) Running() bool {
	select {
	case <-j.over:
		return false
	default:
		return true
	}
}

// HasOutput reports whether the command has written anything.
func (j *Job) HasOutput() bool {
	return j.stdout.Written() || j.stderr != nil && j.stderr.Written()
}

// OutputChanged returns channels that are closed when more was written; the
// second is nil where the streams are merged.
func (j *Job) OutputChanged() (stdout, stderr <-chan struct{}) {
	if j.stderr != nil {
		stderr = j.stderr.Changed()
	}
	return j.stdout.Changed(), stderr
}

// Keep makes the logs, for a job that others will look at later.
func (j *Job) Keep() {
	j.stdout.Keep()
	if j.stderr != nil {
		j.stderr.Keep()
	}
}

// End ends the job's processes: sig, and after grace SIGKILL. It returns when
// nothing lives and everything is read, or when the kernel does not let a
// process go.
func (j *Job) End(cause shared.Cause, sig syscall.Signal, grace time.Duration) {
	defer j.endEnd()
	j.mu.Lock()
	if j.ends++; j.ends == 1 {
		j.ending = make(chan struct{})
	}
	if j.cause == "" && j.group.LeaderLives() {
		j.cause, j.deadly = cause, !j.group.LeaderHandles(sig)
	}
	j.mu.Unlock()
	if j.group.End(sig, grace) {
		<-j.over
	}
}

func (j *Job) endEnd() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ends--; j.ends == 0 {
		close(j.ending)
		j.ending = nil
	}
}

// Ending returns a channel that is closed when no End is under way any more,
// nil where there is none.
func (j *Job) Ending() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ending
}

// Settle waits for the live copy, as far as its reader keeps up.
func (j *Job) Settle() { j.live.settle() }
