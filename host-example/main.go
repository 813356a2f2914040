// Host-example is a small, complete host of the bash plugin. It runs commands
// through the plugin and shows how a host uses the contract.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"bashplugin/shared"
)

// command is one of host-example's subcommands.
type command struct {
	name  string
	args  string
	run   func(args []string) (exitCode int, err error)
	about string
}

func commands() []command {
	return []command{
		{"run", "[flags] [--] COMMAND", run, "run one command and exit with its exit code, " +
			"or with 125 if this tool failed; Ctrl-C ends all it started"},
		{"repl", "[flags]", repl, "a prompt: each line is a command for a fresh bash; :help lists the rest"},
		{"tools", "[flags]", printTools, "print the definitions of a dialect's tools for a model API"},
		{"mcp", "[flags]", serveMCP, "serve a dialect's tools to an MCP client on stdin and stdout"},
		{"demo", "[flags]", demo, "a guided tour; each step fails loudly if its claim does not hold"},
	}
}

// Exit codes of this program. run exits with toolError if the command has no outcome, as env
// and docker do; the other subcommands exit with 1 then.
const (
	usageError = 2
	toolError  = 125
)

func main() {
	os.Exit(dispatch(os.Args[1:]))
}

func dispatch(args []string) int {
	if len(args) == 0 {
		usage(os.Stderr, "")
		return usageError
	}
	switch strings.TrimLeft(args[0], "-") {
	case "help", "h":
		usage(os.Stdout, "")
		return 0
	case "version":
		fmt.Printf("host-example %s (contract %d, %s, %s/%s)\n",
			version(), shared.Handshake.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
		case err != nil && code == usageError:
			fmt.Fprintf(os.Stderr, "host-example: %s; see host-example %s -help\n", plain(err), c.name)
		case err != nil:
			fmt.Fprintln(os.Stderr, "host-example:", plain(err))
		}
		return code
	}
	fmt.Fprintf(os.Stderr, "host-example: unknown command %q; see host-example -help\n", args[0])
	return usageError
}

// usage prints how to call the subcommands, or only one of them.
func usage(w io.Writer, only string) {
	fmt.Fprint(w, "host-example runs bash commands through the bash plugin.\n\n")
	for _, c := range commands() {
		if only == "" || only == c.name {
			fmt.Fprintf(w, "  host-example %-5s %-22s %s\n", c.name, c.args, c.about)
		}
	}
	fmt.Fprint(w, "\n  host-example COMMAND -help lists a command's flags, "+
		"host-example -version prints the version.\n\n")
}

// version returns the version of the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// stopped is the cause of a context that a signal ended.
type stopped syscall.Signal

func (s stopped) Error() string { return "stopped by " + syscall.Signal(s).String() }

// interruptible returns a context that ends with the first signal that asks
// this program to end. The second signal ends the program. Signals that were
// ignored when the program started, as under nohup, stay ignored.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		first := (<-signals).(syscall.Signal)
		cancel(stopped(first))
		second := (<-signals).(syscall.Signal)
		os.Exit(128 + int(second))
	}()
	return ctx, func() { cancel(nil) }
}

// flagOf maps the fields of a configuration to the flags that set them.
var flagOf = map[string]string{
	"Path":             "-plugin",
	"Dir":              "-dir",
	"DropEnv":          "-drop-env",
	"LogDir":           "-log-dir",
	"LogRetention":     "-log-retention",
	"Confine":          "-read-only, -private and -no-network",
	"Resources":        "-memory, -cpu, -processes and -disk",
	"TLS":              "-tls-cert, -tls-key, -tls-ca and -tls-server-name",
	"StartTimeout":     "-start-timeout",
	"Address":          "-connect",
	"Confine.Writable": "-writable",
	"Confine.Readable": "-readable",
	"Policy":           "-allow, -ask, -deny and -rules",
}

// plain returns an error as text for a person at a shell, with the flag that has to change.
func plain(err error) string {
	known, ok := errors.AsType[*shared.Error](err)
	if !ok || flagOf[known.Field] == "" {
		return err.Error()
	}
	return flagOf[known.Field] + ": " + err.Error()
}

// errorObject returns an error for programs to read. code stands in for the code of an error that
// has none.
func errorObject(err error, code shared.Code) map[string]any {
	if e, ok := errors.AsType[*shared.Error](err); ok {
		code = e.Code
	}
	return map[string]any{"code": code, "message": plain(err)}
}
