// Host-example is a small, complete host of the bash plugin: it runs commands
// through it, and shows how a host uses the contract.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// command is one of host-example's subcommands.
type command struct {
	name, args, about string
	run               func(args []string) (exitCode int, err error)
}

func commands() []command {
	return []command{
		{"run", "[flags] [--] COMMAND", "run one command and exit with its exit code", run},
		{"repl", "[flags]", "a prompt: live output, jobs, history", repl},
		{"tools", "[flags]", "print tool definitions for a model API", printTools},
		{"mcp", "[flags]", "serve the tools to an MCP client on stdin and stdout", serveMCP},
		{"demo", "[flags]", "a guided tour of what the plugin does", demo},
	}
}

const usageError = 2

func main() {
	os.Exit(dispatch(os.Args[1:]))
}

func dispatch(args []string) int {
	if len(args) == 0 {
		usage(os.Stderr)
		return usageError
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(os.Stdout)
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		code, err := c.run(args[1:])
		switch {
		case errors.Is(err, flag.ErrHelp):
			return 0
		case err != nil:
			fmt.Fprintln(os.Stderr, "host-example:", plain(err))
		}
		return code
	}
	fmt.Fprintf(os.Stderr, "host-example: unknown command %q\n\n", args[0])
	usage(os.Stderr)
	return usageError
}

func usage(w io.Writer) {
	fmt.Fprint(w, "host-example runs bash commands through the bash plugin.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  host-example %-5s %-24s %s\n", c.name, c.args, c.about)
	}
	fmt.Fprint(w, "\n  host-example COMMAND -help lists a command's flags.\n")
}
