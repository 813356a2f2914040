package job

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Config is what a Job needs besides its request.
type Config struct {
	Start func(process.Spec) (*process.Group, error)
	Logs  *output.Logs
	Turns Turns
	Bash  string   // path of bash
	Null  *os.File // open for reading, the command's stdin
	Dir   string   // absolute, as a Result shows it
	Place string   // a path to Dir, which may have been removed
	Env   []string
	Name  string // of the log files, which end in .stdout.log and .stderr.log
}

// Job is one command, from its start to the end of the last process that it
// left behind. It is safe for concurrent use.
type Job struct {
	PID     int
	Started time.Time
	req     shared.ExecuteRequest // without what only the start needs
	dir     string

	group          *process.Group
	stdout, stderr *source // stderr is nil where it is merged into stdout
	copies         [2]*liveCopy

	ended chan struct{} // closed when bash has ended and what it wrote is read: outcome is set
	over  chan struct{} // closed when nothing of the job lives and everything is read

	mu      sync.Mutex // guards what follows
	cause   shared.Cause
	outcome outcome
	toldEnd bool // a Result has said that bash has ended
}

// outcome is how bash ended.
type outcome struct {
	ended    bool
	status   process.Status
	cause    shared.Cause // why this tool ended it; "": it ended by itself
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
	for _, s := range j.sources() {
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
	defer script.Close() // nil for a short command: then this does nothing
	return cfg.Start(spec)
}

// open makes the pipes and what follows them. It returns the command's files.
func (j *Job) open(cfg Config) (files []*os.File, err error) {
	files = []*os.File{cfg.Null}
	j.copies[0], j.copies[1] = newLiveCopies(j.req.Stdout, j.req.Stderr, j.req.Lossless)
	var write *os.File
	if j.stdout, write, err = j.openStream(cfg, ".stdout.log", j.copies[0]); err != nil {
		return files, err
	}
	if files = append(files, write); j.req.Merge {
		return append(files, write), nil
	}
	if j.stderr, write, err = j.openStream(cfg, ".stderr.log", j.copies[1]); err != nil {
		return files, err
	}
	return append(files, write), nil
}

func (j *Job) openStream(cfg Config, name string, copy *liveCopy) (*source, *os.File, error) {
	limits := j.req.Limits
	text := output.NewStream(output.StreamConfig{Logs: cfg.Logs, Name: cfg.Name + name, Tail: limits.MaxBytes})
	s, write, err := newSource(cfg.Turns, text, copy)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	return s, write, nil
}

// abandon gives up what a command that did not start would have used.
func (j *Job) abandon() {
	for _, s := range j.sources() {
		s.file.Close()
	}
	j.closeCopies()
}

func (j *Job) closeCopies() {
	for _, c := range j.copies {
		c.close()
	}
}

// sources returns the streams that the command has.
func (j *Job) sources() []*source {
	var all []*source
	for _, s := range []*source{j.stdout, j.stderr} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// follow sees the command through.
func (j *Job) follow() {
	<-j.group.Exited()
	duration := time.Since(j.Started)
	j.drain()
	left := j.group.LeftBehind()
	if left {
		j.drain() // what was passed on meanwhile, as by tee
	} else {
		j.finish()
	}
	j.mu.Lock()
	j.outcome = outcome{ended: true, status: j.group.Status(), cause: j.cause, duration: duration}
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

// drain reads what was written so far.
func (j *Job) drain() {
	for _, s := range j.sources() {
		s.drain()
	}
}

// finish reads the rest and closes the streams. Nothing of the job lives.
func (j *Job) finish() {
	j.drain()
	for _, s := range j.sources() {
		s.close()
	}
	j.closeCopies() // of a stream that is merged
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

// Keep makes the logs, for a job that others will look at later.
func (j *Job) Keep() {
	for _, s := range j.sources() {
		s.text.Keep()
	}
}

// End ends the job's processes: sig, and after grace SIGKILL. It returns when
// nothing lives and everything is read, or when the kernel does not let a
// process go.
func (j *Job) End(cause shared.Cause, sig syscall.Signal, grace time.Duration) {
	j.mu.Lock()
	if j.cause == "" && j.group.LeaderLives() {
		j.cause = cause
	}
	j.mu.Unlock()
	if j.group.End(sig, grace) {
		<-j.over
	}
}
