package program_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"bashplugin/plugin/program"
	"bashplugin/shared"
)

// A host as one binary. In a program of its own, Example is the function main.
func Example() {
	program.Run() // the plugin that Launch starts goes no further
	if err := host(context.Background(), "echo hello"); err != nil {
		log.Fatal(err)
	}
	// Output: hello
}

func host(ctx context.Context, command string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bash, err := shared.Launch(ctx, shared.LaunchConfig{Path: self})
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
