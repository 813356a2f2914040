package shared_test

import (
	"context"
	"fmt"
	"log"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
)

// A host that loads the plugin and runs a command. pluginPath is the path of
// the bash-plugin binary.
func Example() {
	ctx := context.Background()
	bash, err := shared.Launch(ctx, shared.LaunchConfig{Path: pluginPath})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()
	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "echo hello; echo oops >&2; exit 3"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content, result.Stderr.Content)
	fmt.Println(result.Status, result.ExitCode)
	// Output:
	// hello
	// oops
	// failed 3
}

// A host that loads its plugins with go-plugin itself needs Handshake and
// Plugins, and nothing more.
func Example_plain() {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  shared.Handshake,
		Plugins:          shared.Plugins,
		Cmd:              exec.Command(pluginPath),
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

// Start a server, wait until it says that it listens, use it, kill it: three
// calls, no polling and no sleep.
func Example_server() {
	ctx := context.Background()
	bash, err := shared.Launch(ctx, shared.LaunchConfig{Path: pluginPath})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()

	server := "echo starting; sleep 0.1; echo listening on port 8080; sleep 1000"
	started, err := bash.Execute(ctx, shared.ExecuteRequest{Command: server, Mode: shared.ModeBackground})
	if err != nil {
		log.Fatal(err)
	}
	ready, err := bash.Check(ctx, shared.CheckRequest{PID: started.PID, Wait: time.Minute, WaitFor: `listening on port (\d+)`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ready.Status, strings.Contains(ready.Stdout.Content, "listening on port 8080"))
	killed, err := bash.Kill(ctx, shared.KillRequest{PID: started.PID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(killed.Status, killed.Cause)
	// Output:
	// running true
	// killed kill
}
