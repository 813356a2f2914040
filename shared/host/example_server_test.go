//go:build unix

package host_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Start a server, wait until it says that it listens, use it, kill it: three
// calls, no polling and no sleep.
func Example_server() {
	ctx := context.Background()
	bash, err := host.Launch(ctx, host.LaunchConfig{Path: plugintest.Path})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()

	server := "echo starting; echo listening on port 8080; sleep 1000"
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
