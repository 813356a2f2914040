package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// repl is a prompt for people, or takes its commands from a pipe. It exits as
// the last command did.
func repl(args []string) (int, error) {
	set := newFlagSet("repl", "[flags]", "A prompt. Each line is a command for a fresh bash; :help says what else there is.")
	var launch launchFlags
	launch.register(set)
	if err := parseFlags(set, args); err != nil {
		return usageError, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := stopSignals()
	go func() { stop(stopped((<-signals).(syscall.Signal))) }()
	console, err := openConsole(ctx)
	if err != nil {
		return 1, err
	}
	defer console.restore()
	launch.log = console.log()
	var client *shared.Client
	if console.during(func() { client, err = launch.launch(ctx) }, func() { stop(stopped(syscall.SIGINT)) }); err != nil {
		return failure(ctx, err)
	}
	defer client.Close()
	dir, err := filepath.Abs(launch.dir)
	if err != nil {
		return 1, err
	}
	var failure firstFailure
	broken := brokenPipe(stop)
	s := newShell(client, console, dir, func(err error) {
		failure.note(err)
		broken(err)
	})
	s.loop(ctx)
	if code, ok := stopCode(ctx); ok {
		return code, nil
	}
	if err := failure.get(); err != nil {
		return 1, fmt.Errorf("cannot write the output: %w", err)
	}
	if err := console.inputError(); err != nil {
		return 1, fmt.Errorf("cannot read the commands: %w", err)
	}
	return s.exitCode, nil
}

// shell is the session of a repl. One goroutine uses it.
type shell struct {
	client     *shared.Client
	console    *console
	out, err   io.Writer
	merge      bool           // out and err are the same
	interrupts chan os.Signal // Ctrl-C where the terminal is not ours to read keys from
	dir        string         // of commands
	logs       map[int][]string
	exitCode   int // of the last command

	// With a dialect, commands are calls of its tools:
	dialect tool.Dialect
	tools   *tool.Toolset
}

func newShell(client *shared.Client, console *console, dir string, failed func(error)) *shell {
	s := &shell{
		client:     client,
		console:    console,
		out:        watched{console.stream(os.Stdout), failed},
		err:        watched{console.stream(os.Stderr), failed},
		merge:      oneStream(),
		dir:        dir,
		interrupts: make(chan os.Signal, 1),
		logs:       make(map[int][]string),
	}
	signal.Notify(s.interrupts, os.Interrupt)
	return s
}

var errQuit = errors.New("quit")

// loop runs line after line until their end, :quit, or the end of ctx.
func (s *shell) loop(ctx context.Context) {
	if s.console.isTerminal() {
		fmt.Fprintf(s.out, "Commands run in the plugin (process %d). :help lists what else there is; Ctrl-D leaves.\n", s.client.PluginPID())
	}
	for ctx.Err() == nil {
		line, err := s.command(ctx)
		if errors.Is(err, io.EOF) {
			if s.console.isTerminal() {
				fmt.Fprintln(s.out) // below the prompt
			}
			break
		}
		if err == nil {
			s.drainInterrupts()
			err = s.handle(ctx, line)
		}
		if errors.Is(err, errQuit) {
			return
		}
		if err != nil && ctx.Err() == nil {
			s.exitCode = 1
			fmt.Fprintf(s.err, "error: %s\n", plain(err))
		}
	}
}

func (s *shell) prompt() string {
	if s.dialect != "" {
		return fmt.Sprintf("bash (%s)> ", s.dialect)
	}
	return "bash> "
}

// drainInterrupts forgets a Ctrl-C from when nothing ran.
func (s *shell) drainInterrupts() {
	select {
	case <-s.interrupts:
	default:
	}
}

func (s *shell) handle(ctx context.Context, line string) error {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		return nil
	case isDirective(trimmed):
		return s.direct(ctx, trimmed)
	case s.tools != nil:
		return s.callBash(ctx, line)
	}
	return s.execute(ctx, line)
}

// outcome says in short how a command ended, or that it runs.
func outcome(r *shared.Result) string {
	text := string(r.Status)
	if r.Cause != "" && r.Cause != shared.CauseKill {
		text += " (" + string(r.Cause) + ")"
	}
	if r.Status != shared.StatusRunning {
		text += fmt.Sprintf(", exit code %d", r.ExitCode)
	}
	if r.Signal != "" {
		text += " (" + r.Signal + ")"
	}
	return text + ", " + r.Duration.Round(time.Millisecond).String()
}

// maxOneLine is the longest text in a notice.
const maxOneLine = 60

// oneLine makes a command fit into a line, of nothing but what can be seen.
func oneLine(command string) string {
	visible := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, command)
	text := []rune(strings.Join(strings.Fields(visible), " "))
	if len(text) > maxOneLine {
		return string(text[:maxOneLine-1]) + "…"
	}
	return string(text)
}
