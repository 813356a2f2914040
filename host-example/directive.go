package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// directive is one of the repl's own commands.
type directive struct {
	name, args, about string
	run               func(s *shell, ctx context.Context, args string) error
}

func directives() []directive {
	return []directive{
		{":jobs", "", "list the jobs: what goes on in the background, and what has ended there", (*shell).jobs},
		{":check", "PID", "a job's state, and its output since the last look", (*shell).check},
		{":wait", "PID [REGEXP]", "wait until a job's output matches, or bash has ended; Ctrl-C stops the waiting", (*shell).wait},
		{":kill", "PID|all", "end a job and all it started", (*shell).killJob},
		{":detach", "", "while a command runs (or Ctrl-Z): let it go on in the background; not with a dialect", (*shell).detach},
		{":cd", "[DIR]", "show or choose where commands start; each has a fresh bash, so that cd does not last", (*shell).cd},
		{":dialect", "[NAME|off]", "show or choose a dialect: commands become calls of its tools, and you see what a model would", (*shell).chooseDialect},
		{":call", "TOOL JSON", "with a dialect, call any of its tools", (*shell).call},
		{":help", "", "this list", (*shell).help},
		{":quit", "", "leave, as Ctrl-D does; jobs end with the session", func(*shell, context.Context, string) error { return errQuit }},
	}
}

// direct runs a line that begins with a colon.
func (s *shell) direct(ctx context.Context, line string) error {
	name, args, _ := strings.Cut(line, " ")
	for _, d := range directives() {
		if d.name == name {
			return d.run(s, ctx, strings.TrimSpace(args))
		}
	}
	return fmt.Errorf("there is no %s; :help lists what there is", name)
}

func (s *shell) help(context.Context, string) error {
	fmt.Fprint(s.out, "A line is a command for bash. Ctrl-C ends it and all it started. Besides:\n\n")
	for _, d := range directives() {
		fmt.Fprintf(s.out, "  %-20s %s\n", d.name+" "+d.args, d.about)
	}
	return nil
}

func (s *shell) detach(context.Context, string) error {
	return errors.New("no command is running; type :detach, or Ctrl-Z, while one does")
}

func (s *shell) cd(_ context.Context, args string) error {
	if args == "" {
		fmt.Fprintln(s.out, s.dir)
		return nil
	}
	dir := args
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		dir = home + rest
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.dir, dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	s.dir = dir
	return nil
}
