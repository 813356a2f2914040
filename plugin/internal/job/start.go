package job

import (
	"fmt"
	"os"
	"syscall"

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
	Limits *confine.Limits // the job removes them

	// Peers are the commands with which this one may exchange signals; nil: none.
	Peers *process.Peers

	// Place is a path that leads to Dir even if Dir was removed.
	Place string

	// Name begins the names of the log files; .stdout.log or .stderr.log follows.
	Name string

	// Confine prepares the command's Confinement. terminal is the file of the command's terminal;
	// "": it has none.
	Confine func(terminal string) (Confinement, error)
}

// Confinement is how one command is restricted, and its environment.
type Confinement struct {
	// Text says in Results what the command may touch; "": everything.
	Text string

	// Env is the command's environment.
	Env []string

	// Release is called once, when none of the command's processes lives.
	Release func()

	// Restrict restricts the thread that calls it; nil: nothing is restricted.
	Restrict func() error

	// Begun is called when the command's group has begun; nil: nothing is called. Until Release,
	// Begun's goroutines may work for the group, but only within guard, so that a panic ends this
	// job alone.
	Begun func(g *process.Group, guard func(func()))
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
			f.Close() // the command has its own by now
		}
	}
	if err != nil {
		j.abandon()
		j.within.Release()
		j.limits.Remove()
		return nil, err
	}
	if j.within.Begun != nil {
		j.within.Begun(j.group, j.Guard)
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
		Peers:    cfg.Peers,
		Restrict: within.Restrict,
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
	if j.failure != nil { // when the job failed there was no group to end
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
	j.within.Restrict = nil
	j.within.Begun = nil
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
	j.stdout, write, err = j.openStream(cfg, ".stdout.log", j.copies[0])
	if err != nil {
		return files, err
	}
	files = append(files, write)
	if j.req.Merge {
		return append(files, write), nil
	}
	j.stderr, write, err = j.openStream(cfg, ".stderr.log", j.copies[1])
	if err != nil {
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
	text := output.NewStream(output.StreamConfig{
		Logs: cfg.Logs,
		Name: cfg.Name + name,
		Tail: j.req.Limits.MaxBytes,
	})
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
