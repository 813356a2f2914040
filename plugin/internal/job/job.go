package job

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Config configures a Job, besides its request.
type Config struct {
	Start  func(process.Spec) (*process.Group, error)
	Logger hclog.Logger
	Logs   *output.Logs
	Turns  Turns
	Bash   string          // path of bash
	Null   *os.File        // open for reading, the command's stdin
	Dir    string          // absolute, as a Result shows it
	Place  string          // a path to Dir, which may have been removed
	Name   string          // of the log files, before .stdout.log and .stderr.log
	Limits *confine.Limits // the job removes them

	// Confine prepares what the command runs in. terminal is the file of the command's
	// terminal; "": it has none.
	Confine func(terminal string) (Confinement, error)
}

// Confinement is what one command runs in.
type Confinement struct {
	Text    string          // what the command may touch, for its Results; "": everything
	Env     []string        // its environment
	Thread  *process.Thread // forks it; nil: any thread does
	Release func()          // called once, when none of its processes lives
}

// Job is one command, from its start to the end of the last process that it
// left behind. It is safe for concurrent use.
type Job struct {
	PID     int
	Started time.Time
	req     shared.ExecuteRequest // without the fields that only the start needs
	dir     string
	log     hclog.Logger
	limits  *confine.Limits
	within  Confinement

	group          *process.Group
	stdout, stderr *source // stderr is nil if it is merged into stdout
	copies         [2]*liveCopy
	input          *input  // nil: its stdin is /dev/null
	stdin          string  // name of the open stdin in /proc/PID/fd; "": there is none
	screen         *screen // nil: it has no terminal

	ended chan struct{} // closed when bash has ended, its output is read and outcome is set
	over  chan struct{} // closed when no process of the job lives and all output is read

	released chan struct{} // closed when nothing of the job is left, such as its TMPDIR

	mu       sync.Mutex // guards the fields below
	cause    shared.Cause
	exceeded string // how a limit was; "": none was
	outcome  outcome
	toldEnd  bool  // a Result has said that bash has ended
	failure  error // why there is no outcome
}

// outcome is how bash ended.
type outcome struct {
	ended    bool
	status   process.Status
	cause    shared.Cause // why this tool ended bash; "": bash ended by itself
	duration time.Duration
}

// Start starts a command. The request must be valid.
func Start(cfg Config, req shared.ExecuteRequest) (*Job, error) {
	j := &Job{
		req:    req,
		dir:    cfg.Dir,
		log:    cfg.Logger,
		limits: cfg.Limits,
		within: Confinement{Release: func() {}},
		ended:  make(chan struct{}),
		over:   make(chan struct{}),

		released: make(chan struct{}),
	}
	files, err := j.open(cfg)
	j.runCopies()
	if err == nil {
		err = j.start(cfg, files)
	}
	for _, f := range files {
		if f != cfg.Null {
			f.Close() // the command has its own by now; some may be one file, or missing
		}
	}
	if err != nil {
		j.abandon()
		j.within.Release()
		j.limits.Remove()
		return nil, err
	}
	j.forgetStart()
	for _, s := range j.sources() {
		go j.Guard(s.run)
	}
	go j.follow()
	j.watch()
	return j, nil
}

// start starts bash.
func (j *Job) start(cfg Config, files []*os.File) error {
	terminal := ""
	if j.screen != nil {
		terminal = files[0].Name()
	}
	within, err := cfg.Confine(terminal)
	if err != nil {
		return err
	}
	j.within = within
	spec := process.Spec{
		Path:     cfg.Bash,
		Dir:      cfg.Place,
		Env:      within.Env,
		Files:    files,
		Terminal: terminal != "",
		Thread:   within.Thread,
		Rlimits:  cfg.Limits.Rlimits,
		Cgroup:   cfg.Limits.Cgroup,
	}
	script, err := arguments(&spec, j.req.Command)
	if err != nil {
		return err
	}
	defer script.Close() // does nothing for a short command, whose script is nil
	group, err := cfg.Start(spec)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.group = group
	j.PID = group.PID
	j.Started = group.Started
	if j.failure != nil { // nobody has ended it
		go group.End(syscall.SIGKILL, 0)
	}
	return nil
}

// forgetStart forgets what only the start needs: the job may be kept for long.
func (j *Job) forgetStart() {
	j.req.Env = nil
	j.req.Stdout = nil
	j.req.Stderr = nil
	j.req.Input = ""
	j.within.Env = nil
}

// runCopies starts the goroutines of the input, the screen and the live copies.
func (j *Job) runCopies() {
	if j.screen != nil {
		go j.Guard(j.screen.run)
	}
	if j.input != nil {
		go j.Guard(j.input.run)
	}
	for _, c := range j.copies {
		if c != nil {
			go j.Guard(c.run)
		}
	}
}

// watch ends the job once it is past a limit that somebody must look at.
func (j *Job) watch() {
	limits := j.limits.Watched
	if limits == (shared.Resources{}) {
		return
	}
	j.group.Watch(limits, func(now shared.Usage) bool {
		cause, how := limits.Exceeded(now)
		if how != "" {
			j.blame(cause, how)
			go j.End(cause, syscall.SIGKILL, 0) // until the job is over
		}
		return how == ""
	})
}

// Guard calls f. A panic there, which is a bug of this tool, ends the job and nothing else.
func (j *Job) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(p, debug.Stack())
		}
	}()
	f()
}

// fail ends the job after a panic.
func (j *Job) fail(p any, stack []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log.Error("a command was ended after a panic", "pid", j.PID, "panic", p, "stack", string(stack))
	if j.failure != nil {
		return
	}
	j.failure = &shared.Error{Code: shared.CodeInternal, Message: fmt.Sprintf(
		"the plugin failed with this command, which is a bug, and has ended the command: panic: %v", p)}
	if j.group != nil {
		go j.group.End(syscall.SIGKILL, 0)
	}
}

// Failure returns why the job has no outcome; nil: it has one.
func (j *Job) Failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

// open makes the sources, live copies and input. It returns the command's files.
func (j *Job) open(cfg Config) (files []*os.File, err error) {
	stdin := cfg.Null
	switch j.req.Stdin {
	case shared.StdinPipe:
		stdin, j.input, err = newInput(j.req.Input)
	case shared.StdinTTY:
		stdin, j.input, j.screen, err = newTerminal(j.req.Columns, j.req.Rows, cfg.Turns, j.req.Input)
	}
	if err != nil {
		return nil, err
	}
	if j.input != nil {
		j.stdin, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", stdin.Fd()))
	}
	files = []*os.File{stdin}
	j.copies[0], j.copies[1] = newLiveCopies(j.req.Stdout, j.req.Stderr, j.req.Lossless)
	if j.screen != nil {
		j.stdout = j.sourceOf(cfg, ".stdout.log", j.copies[0], j.input.to)
		return []*os.File{stdin, stdin, stdin}, nil
	}
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
	read, write, err := pipe(0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	return j.sourceOf(cfg, name, copy, read), write, nil
}

func (j *Job) sourceOf(cfg Config, name string, copy *liveCopy, from *os.File) *source {
	text := output.NewStream(output.StreamConfig{Logs: cfg.Logs, Name: cfg.Name + name, Tail: j.req.Limits.MaxBytes})
	return newSource(cfg.Turns, text, copy, j.screen, from)
}

// abandon closes the sources and live copies of a command that did not start.
func (j *Job) abandon() {
	for _, s := range j.sources() {
		s.file.Close()
	}
	j.closeCopies()
	j.input.close()
	j.screen.close()
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

// follow waits for the end of bash and of the left-over processes.
func (j *Job) follow() {
	<-j.group.Exited()
	duration := time.Since(j.Started)
	j.Guard(j.drain)
	left := j.group.LeftBehind()
	if left {
		j.Guard(j.drain) // the output that a tee, for example, has passed on meanwhile
	} else {
		j.finish()
	}
	cause, how := j.limits.Broken(j.group.Status().Code)
	j.mu.Lock()
	if how != "" && j.cause == "" {
		j.cause, j.exceeded = cause, how
	}
	j.outcome = outcome{ended: true, status: j.group.Status(), cause: j.cause, duration: duration}
	j.mu.Unlock()
	if !left {
		close(j.over)
	}
	close(j.ended)
	if left {
		<-j.group.Gone()
		j.finish()
		j.blame(j.limits.Broken(0))
		close(j.over)
	}
	j.Guard(j.within.Release)
	j.Guard(j.limits.Remove)
	close(j.released)
}

// drain reads the output that was written so far.
func (j *Job) drain() {
	for _, s := range j.sources() {
		s.drain()
	}
}

// finish reads the rest and closes the streams. No process of the job lives.
func (j *Job) finish() {
	j.Guard(j.drain)
	for _, s := range j.sources() {
		j.Guard(s.close)
	}
	j.Guard(j.input.close)
	j.Guard(j.screen.close)
	j.closeCopies() // with Merge, the copy for stderr has no source that closes it
}

// Ended is closed when bash has ended and all its output was read.
func (j *Job) Ended() <-chan struct{} { return j.ended }

// HasEnded reports whether bash has ended, even if Ended is not closed yet.
func (j *Job) HasEnded() bool { return !j.group.LeaderLives() }

// Over is closed when the processes that bash left behind have ended, too.
func (j *Job) Over() <-chan struct{} { return j.over }

// Released is closed when, after Over, nothing of the job is left outside of this process.
func (j *Job) Released() <-chan struct{} { return j.released }

// Running reports whether bash or a process that it left behind lives.
func (j *Job) Running() bool {
	select {
	case <-j.over:
		return false
	default:
		return true
	}
}

// Keep makes the logs, for a command that becomes a job.
func (j *Job) Keep() {
	for _, s := range j.sources() {
		s.text.Keep()
	}
}

// End ends the job's processes by sig, and after grace by SIGKILL. It returns when
// none lives and all output is read, or when one could not be ended.
func (j *Job) End(cause shared.Cause, sig syscall.Signal, grace time.Duration) {
	j.blame(cause, "")
	if sig == syscall.SIGKILL {
		j.limits.Kill()
	}
	if j.group.End(sig, grace) {
		<-j.over
	}
}

// blame records the first reason why this tool ends the job. It is the cause of bash's end
// if bash has not ended.
func (j *Job) blame(cause shared.Cause, exceeded string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause == "" && j.exceeded == "" {
		j.exceeded = exceeded
	}
	if j.cause == "" && j.group.LeaderLives() {
		j.cause = cause
	}
}
