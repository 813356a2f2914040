//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

func Example() {
	ctx := context.Background()
	bash, err := host.Launch(ctx, host.LaunchConfig{Path: plugintest.Path})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bash.Close()
	tools, err := tool.New(tool.Default, bash, tool.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tools.Close()

	// What the model is offered.
	for _, definition := range tools.Definitions() {
		fmt.Println(definition.Name)
	}
	// What it calls, and what it is told.
	for _, arguments := range []string{
		`{"command":"echo hello; echo oops >&2; exit 3"}`,
		`{"comand":"echo hello"}`,
	} {
		answer := tools.Call(ctx, tool.Call{Name: "bash", Arguments: json.RawMessage(arguments)})
		fmt.Printf("\n%s\n", answer.Text)
	}
	// Output:
	// bash
	// bash_job
	// bash_input
	// bash_kill
	// bash_jobs
	//
	// hello
	// oops
	// [ended with exit code 3]
	//
	// invalid arguments: there is no argument "comand": did you mean command?
	// Usage: bash {"command": string, "timeout"?: integer, "background"?: boolean, "dir"?: string, "tty"?: boolean, "input"?: string}
}
