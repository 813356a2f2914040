//go:build unix

package shared_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// A host that loads its plugins with go-plugin itself needs Handshake and
// Plugins, and nothing more.
func Example_plain() {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  shared.Handshake,
		Plugins:          shared.Plugins,
		Cmd:              exec.Command(plugintest.Path),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC},
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		log.Fatal(err)
	}
	dispensed, err := protocol.Dispense(shared.PluginName)
	if err != nil {
		log.Fatal(err)
	}
	bash := dispensed.(shared.Bash)
	result, err := bash.Execute(context.Background(), shared.ExecuteRequest{Command: "echo hello"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content)
	// Output: hello
}

// sh is a Bash that runs each command to its end. It has no jobs.
type sh struct{}

func (sh) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(req.Timeout, shared.DefaultTimeout))
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, "sh", "-c", req.Command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = req.Dir, append(os.Environ(), req.Env...), &stdout, &stderr
	result := &shared.Result{Command: req.Command, Status: shared.StatusCompleted, Started: time.Now()}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, &shared.Error{Code: shared.CodeStart, Message: err.Error()}
	}
	result.Duration, result.PID, result.ExitCode = time.Since(result.Started), cmd.ProcessState.Pid(), cmd.ProcessState.ExitCode()
	result.Stdout, result.Stderr = shared.Output{Content: stdout.String()}, shared.Output{Content: stderr.String()}
	switch {
	case ctx.Err() != nil:
		result.Status = shared.StatusKilled
	case err != nil:
		result.Status = shared.StatusFailed
	}
	return result, nil
}

func (sh) Check(_ context.Context, req shared.CheckRequest) (*shared.Result, error) {
	return noJobs(req.PID)
}

func (sh) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	return noJobs(req.PID)
}

func noJobs(pid int) (*shared.Result, error) {
	if pid == shared.AllJobs {
		return &shared.Result{}, nil
	}
	return nil, shared.ErrNotFound
}

// A Bash of your own is a plugin when the main function of its program calls
// plugin.Serve; here sh{} runs commands with sh. ServeConfig.Test makes the
// example plugin and host in one process: a real plugin leaves it out, and a
// real host calls Launch.
func ExamplePlugin() {
	ctx, stop := context.WithCancel(context.Background())
	serving, over := make(chan *plugin.ReattachConfig), make(chan struct{})
	go plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: sh{}}},
		Logger:          hclog.NewNullLogger(),
		Test:            &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: serving, CloseCh: over},
	})
	defer func() { stop(); <-over }()

	host := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         shared.Plugins,
		Reattach:        <-serving,
		Logger:          hclog.NewNullLogger(),
	})
	defer host.Kill()
	protocol, err := host.Client()
	if err != nil {
		log.Fatal(err)
	}
	dispensed, err := protocol.Dispense(shared.PluginName)
	if err != nil {
		log.Fatal(err)
	}
	result, err := dispensed.(shared.Bash).Execute(ctx, shared.ExecuteRequest{Command: "echo hello; exit 3"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content, result.Status, " ", result.ExitCode)
	// Output:
	// hello
	// failed 3
}
