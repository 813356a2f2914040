package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/tool"
)

// repl runs commands from a prompt, or from a pipe. Its exit code is that of the
// last command.
func repl(args []string) (int, error) {
	set, launch := newFlagSet("repl")
	if err := parse(set, args); err != nil {
		return usageError, err
	}
	return launch.with(func(ctx context.Context, client *host.Client) (int, error) {
		in, err := openInput()
		if err != nil {
			return 1, err
		}
		bash, end, err := launch.guard(client, in.asker())
		if err != nil {
			return 1, err
		}
		defer end()
		s := &shell{
			client:   client,
			bash:     bash,
			in:       in,
			keys:     make(chan os.Signal, 1),
			dir:      launch.Dir,
			env:      launch.env,
			prompt:   plainPrompt,
			displays: make(map[int]*display),
		}
		signal.Reset(os.Interrupt) // from now on Ctrl-C ends commands, not this program
		signal.Notify(s.keys, keySignals()...)
		err = s.loop(ctx)
		if in.editor != nil {
			err = errors.Join(err, in.editor.Close())
		}
		return s.exitCode, err
	})
}

// shell is the state of a repl. Only one goroutine uses it.
type shell struct {
	client   *host.Client
	bash     shared.Bash // runs commands
	in       *input
	keys     chan os.Signal // Ctrl-C and Ctrl-Z
	dir      string         // where commands start
	env      []string       // of each command
	exitCode int            // of the last command
	prompt   string

	// displays are those of the jobs that !COMMAND has started, by their pids.
	displays map[int]*display

	// tools are the dialect that commands go through; nil: none.
	tools *tool.Toolset
}

const plainPrompt = "bash> "

var errQuit = errors.New("quit")

// loop runs command after command until the input's end or :quit.
func (s *shell) loop(ctx context.Context) error {
	if s.in.editor != nil {
		fmt.Printf("Commands run in the plugin (process %d). :help lists the rest; Ctrl-D leaves.\n",
			s.client.PluginPID())
	}
	for {
		text, err := s.in.command(ctx, s.prompt)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the commands: %w", err)
		}
		if len(s.keys) > 0 {
			<-s.keys // a key that was pressed when nothing ran
		}
		err = s.handle(ctx, text)
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			s.exitCode = 1
			fmt.Fprintf(os.Stderr, "error: %v\n", err)
		}
	}
}

func (s *shell) handle(ctx context.Context, text string) error {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return nil
	case isDirective(trimmed):
		return s.direct(ctx, trimmed)
	case len(trimmed) > 1 && trimmed[0] == '!' && trimmed[1] != ' ': // "! COMMAND" is bash's own
		return s.inTerminal(ctx, trimmed[1:])
	case s.tools != nil:
		return s.callBash(ctx, text)
	}
	return s.execute(ctx, text)
}

// attend makes a call and handles the keys that are pressed meanwhile. stop
// ends the call's context.
func (s *shell) attend(
	ctx context.Context,
	call func(context.Context) (*shared.Result, error),
	press func(key os.Signal, stop func()),
) (result *shared.Result, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = call(ctx)
	}()
	for {
		select {
		case <-done:
			return result, err
		case key := <-s.keys:
			if s.in.editor != nil {
				fmt.Println() // the terminal has echoed ^C
			}
			press(key, stop)
		}
	}
}
