// Altplugin is another implementation of the contract: it runs commands with
// sh, and can be loaded wherever bash-plugin can.
//
// It has no jobs, no logs and no live copy. A command that is not over at its
// timeout is killed in every mode; ModeBackground, Merge and Limits are refused,
// and output is shown whole. To end a command is to kill its process group: what
// has left that, or outlives the command, is neither listed nor ended. Where a
// request names no directory, it is the host's; the environment is the plugin's.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

type sh struct{ running sync.WaitGroup }

func (s *sh) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	if req.Mode == shared.ModeBackground || req.Merge || req.Limits != (shared.Limits{}) || req.Timeout < 0 {
		return nil, fail(shared.CodeInvalid, "this plugin knows neither ModeBackground nor Merge nor Limits nor negative Timeouts: leave them out")
	}
	s.running.Add(1)
	defer s.running.Done()
	limited, cancel := context.WithTimeout(ctx, cmp.Or(req.Timeout, shared.DefaultTimeout))
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(limited, "sh", "-c", req.Command)
	cmd.Stdout, cmd.Stderr, cmd.Env = &stdout, &stderr, append(os.Environ(), req.Env...)
	cmd.Dir, _ = filepath.Abs(req.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, and a process group to kill
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond // its output may be held by what outlives it

	r := &shared.Result{Command: req.Command, Dir: cmd.Dir, Status: shared.StatusFailed, ExitCode: -1, Started: time.Now()}
	err := cmd.Run()
	r.Duration, r.Stdout, r.Stderr = time.Since(r.Started), show(stdout.String()), show(stderr.String())
	if state := cmd.ProcessState; state != nil {
		r.PID, r.ExitCode = state.Pid(), state.ExitCode()
		if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
			r.ExitCode, r.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
		}
	}
	switch {
	case ctx.Err() != nil && (r.PID == 0 || r.Signal == "SIGKILL"):
		r.Status, r.Cause = shared.StatusKilled, shared.CauseCancel
	case limited.Err() != nil && r.Signal == "SIGKILL":
		r.Status, r.Cause = shared.StatusKilled, shared.CauseTimeout
	case r.PID == 0:
		return nil, fail(shared.CodeStart, err.Error())
	case r.ExitCode == 0:
		r.Status = shared.StatusCompleted
	}
	return r, nil
}

func show(text string) shared.Output {
	text = strings.ToValidUTF8(ansi.Strip(text), "\uFFFD")
	lines := len(slices.Collect(strings.Lines(text)))
	return shared.Output{Content: text, TotalLines: int64(lines), TotalBytes: int64(len(text)), OutputLines: lines, OutputBytes: len(text)}
}

func (*sh) Check(_ context.Context, req shared.CheckRequest) (*shared.Result, error) {
	return jobs(req.PID)
}

func (*sh) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	return jobs(req.PID)
}

// jobs answers for a plugin that has none.
func jobs(pid int) (*shared.Result, error) {
	if pid == shared.AllJobs {
		return &shared.Result{}, nil
	}
	return nil, fail(shared.CodeNotFound, fmt.Sprintf("there is no job %d: this plugin has none", pid))
}

func fail(code shared.Code, message string) error { return &shared.Error{Code: code, Message: message} }

// quit ends the plugin when its commands have ended, which they do when the
// host hangs up: that cancels every call.
func (s *sh) quit() {
	s.running.Wait()
	os.Exit(0)
}

func main() {
	bash := new(sh)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: bash, Disconnected: bash.quit}},
	})
	bash.quit()
}
