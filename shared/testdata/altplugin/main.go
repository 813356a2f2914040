// Altplugin is another implementation of the contract: it runs commands with
// sh, has no jobs, and can be loaded wherever bash-plugin can.
package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
)

type sh struct{}

func (sh) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", req.Command)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, req.Dir
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, &shared.Error{Code: shared.CodeStart, Message: err.Error()}
	}
	result := &shared.Result{PID: cmd.Process.Pid, Command: req.Command, Status: shared.StatusCompleted, ExitCode: cmd.ProcessState.ExitCode()}
	if result.ExitCode != 0 {
		result.Status = shared.StatusFailed
	}
	result.Stdout.Content, result.Stderr.Content = stdout.String(), stderr.String()
	return result, nil
}

func (sh) Check(context.Context, shared.CheckRequest) (*shared.Result, error) {
	return nil, shared.ErrNotFound
}

func (sh) Kill(context.Context, shared.KillRequest) (*shared.Result, error) {
	return nil, shared.ErrNotFound
}

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: sh{}}},
	})
}
