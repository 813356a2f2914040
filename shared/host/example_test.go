//go:build unix

package host_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// A minimal host: it loads the plugin, runs one command and shows what happened.
// pluginPath is the path of the bash-plugin binary.
func Example() {
	code := run(plugintest.Path, "echo hello; echo oops >&2; exit 3", os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// hello
	// oops
	// failed
	// exit code 3
}

// run runs a command and returns its exit code. Ctrl-C kills the command with
// every process that it has started.
func run(path, command string, out io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bash, err := host.Launch(ctx, host.LaunchConfig{Path: path})
	if err != nil {
		fmt.Fprintln(out, err) // says what to do
		return 1
	}
	defer bash.Close() // ends whatever commands have left running
	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: command, Mode: shared.ModeTerminate, Timeout: time.Minute})
	if errors.Is(err, shared.ErrCrashed) {
		fmt.Fprintln(out, "the plugin is gone, and the command with it; the next Execute starts a fresh one")
	}
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	for _, output := range []shared.Output{result.Stdout, result.Stderr} {
		fmt.Fprint(out, output.Content)
		if output.Truncated {
			fmt.Fprintf(out, "[the last %d of %d lines; all of them are in %s]\n", output.OutputLines, output.TotalLines, output.Path)
		}
	}
	fmt.Fprintln(out, cmp.Or(string(result.Cause), string(result.Status)))
	return result.ExitCode
}
