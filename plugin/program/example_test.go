package program_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"bashplugin/plugin/program"
	"bashplugin/shared"
	"bashplugin/shared/host"
)

// A host as one binary. In a program of its own, Example is the function main.
func Example() {
	program.Run() // the plugin that Launch starts goes no further
	if err := run(context.Background(), "echo hello"); err != nil {
		log.Fatal(err)
	}
	// Output: hello
}

func run(ctx context.Context, command string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bash, err := host.Launch(ctx, host.LaunchConfig{Path: self})
	if err != nil {
		return err
	}
	defer bash.Close()
	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: command})
	if err != nil {
		return err
	}
	fmt.Print(result.Stdout.Content)
	return nil
}
