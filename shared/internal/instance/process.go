package instance

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// process is a runner.Runner: it runs the plugin for go-plugin. go-plugin's own
// runner kills the plugin alone, not its process group, and leaves the plugin's
// stderr to a parser that some JSON makes panic.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr io.ReadCloser
	log            *Log
	logger         hclog.Logger
	ended          chan struct{}

	mu      sync.Mutex // guards what follows
	killed  bool
	waiting bool // Wait was called: the process may have been reaped, and its pid reused
}

func newProcess(cfg Config) *process {
	cmd := exec.Command(cfg.Path, cfg.Args...)
	cmd.Env = cfg.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for the host
	return &process{
		cmd:    cmd,
		log:    NewLog(cfg.Logger.Named(filepath.Base(cfg.Path))),
		logger: cfg.Logger,
		ended:  make(chan struct{}),
	}
}

// runner is called by go-plugin with the variables that it adds to the
// environment. Its folder for sockets would be left behind by a host that is
// killed; a plugin makes its own.
func (p *process) runner(_ hclog.Logger, spec *exec.Cmd, folder string) (_ runner.Runner, err error) {
	_ = os.Remove(folder)
	p.cmd.Env = append(p.cmd.Env, slices.DeleteFunc(spec.Env, func(entry string) bool {
		return strings.HasPrefix(entry, plugin.EnvUnixSocketDir+"=")
	})...)
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	p.stderr, err = p.cmd.StderrPipe()
	return p, err
}

// Start is called by go-plugin once.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := errors.New("killed before it was started")
	if !p.killed {
		err = p.cmd.Start()
	}
	if err != nil {
		close(p.ended)
		return err
	}
	p.logger.Debug("started the plugin", "path", p.cmd.Path, "pid", p.cmd.Process.Pid)
	return nil
}

// Wait is called by go-plugin when it has read stdout and stderr to their ends.
func (p *process) Wait(context.Context) error {
	p.mu.Lock()
	p.waiting = true
	p.mu.Unlock()
	err := p.cmd.Wait()
	p.logger.Debug("the plugin has ended", "pid", p.cmd.Process.Pid, "how", p.cmd.ProcessState.String())
	close(p.ended)
	return err
}

// kill kills the process group. Before Wait that is there, whatever has ended.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	switch {
	case p.cmd.Process == nil:
	case p.waiting:
		_ = p.cmd.Process.Kill()
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// end kills the process group and waits for its end, for a while.
func (p *process) end() {
	p.kill()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.abandon()
	}
}

func (p *process) abandon() {
	p.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd.Process != nil {
		p.stdout.Close()
		p.stderr.Close()
	}
}

// stderr passes all that it reads on to the log, and nothing to its reader.
type stderr struct {
	io.ReadCloser
	log *Log
}

func (s stderr) Read([]byte) (int, error) {
	_, err := io.Copy(s.log, s.ReadCloser)
	_, _ = s.log.Write([]byte("\n")) // ends the last line
	return 0, cmp.Or(err, io.EOF)
}

// The rest of runner.Runner.

func (p *process) Kill(context.Context) error { p.kill(); return nil }

func (p *process) Stdout() io.ReadCloser { return p.stdout }

func (p *process) Stderr() io.ReadCloser { return stderr{p.stderr, p.log} }

func (p *process) Name() string { return p.cmd.Path }

func (p *process) ID() string { return strconv.Itoa(p.cmd.Process.Pid) }

func (p *process) Diagnose(context.Context) string { return "" }

func (p *process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
