//go:build unix

package host_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// The whole of a small agent's host: it takes commands as a model would give them and
// answers with text for the model. A command that takes longer than the Timeout goes on
// as a job, and so does what a command leaves running.
// pluginPath is the path of the bash-plugin binary.
func Example_minimal() {
	if err := agent(strings.NewReader("echo hello\nsleep 1000 & echo started\nexit 3\n")); err != nil {
		log.Fatal(err)
	}
	// Output:
	// $ echo hello
	// hello
	// [completed: exit code 0, left running: 0]
	// $ sleep 1000 & echo started
	// started
	// [completed: exit code 0, left running: 1]
	// $ exit 3
	// [failed: exit code 3, left running: 0]
}

func agent(commands io.Reader) error {
	ctx := context.Background()
	bash, err := host.Launch(ctx, host.LaunchConfig{Path: plugintest.Path})
	if err != nil {
		return err
	}
	defer bash.Close() // ends the jobs, too
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		fmt.Println("$", lines.Text())
		result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: lines.Text(), Timeout: time.Minute})
		if err != nil {
			return err
		}
		fmt.Print(text(result))
	}
	return nil
}

// text tells a model what happened. A host that offers Check and Kill adds result.PID.
func text(result *shared.Result) string {
	output := result.Stdout.Content + result.Stderr.Content
	if result.Status == shared.StatusRunning {
		return output + "[running]\n"
	}
	return fmt.Sprintf("%s[%s: exit code %d, left running: %d]\n", output, result.Status, result.ExitCode, len(result.Leftover))
}
