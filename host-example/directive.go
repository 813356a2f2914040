package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"bashplugin/shared"
)

// directive is one of the repl's own commands.
type directive struct {
	name  string
	args  string
	run   func(s *shell, ctx context.Context, args string) error
	about string
}

// ofJob makes a directive from a function for one job.
func ofJob(
	run func(s *shell, ctx context.Context, pid int, rest string) error,
) func(*shell, context.Context, string) error {
	return func(s *shell, ctx context.Context, args string) error {
		number, rest, _ := strings.Cut(args, " ")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 {
			return fmt.Errorf("%q is not the PID of a job: use one that :jobs lists", number)
		}
		return run(s, ctx, pid, strings.TrimSpace(rest))
	}
}

func directives() []directive {
	return []directive{
		{":jobs", "", (*shell).jobs,
			"list the jobs that run in the background, or have ended there"},
		{":check", "PID", ofJob((*shell).check),
			"show a job's state, and its output since the last :check or :wait"},
		{":wait", "PID [REGEXP]", ofJob((*shell).wait),
			"wait until a job's output matches, or bash has ended; Ctrl-C stops the waiting"},
		{":attach", "PID", ofJob((*shell).attach),
			"use the terminal of a job that !COMMAND started; Ctrl-] leaves it"},
		{":kill", "PID|all", (*shell).killJobs,
			"end a job and all it started"},
		{":cd", "[DIR]", (*shell).cd,
			"show or set the directory where commands start; a cd in a command lasts for that command only"},
		{":dialect", "[NAME|off]", (*shell).chooseDialect,
			"choose a dialect: commands become calls of its tools, and you see the answers that a model gets"},
		{":call", "TOOL JSON", (*shell).call,
			"with a dialect, call any of its tools"},
		{":help", "", (*shell).help,
			"this list"},
		{":quit", "", (*shell).quit,
			"leave, as Ctrl-D does; this ends all jobs"},
	}
}

// isDirective reports whether a line is for the repl. A colon alone is a bash
// command.
func isDirective(line string) bool {
	return len(line) > 1 && line[0] == ':' && !strings.ContainsRune(" \t\n;&|<>()", rune(line[1]))
}

func (s *shell) direct(ctx context.Context, line string) error {
	name, args, _ := strings.Cut(line, " ")
	for _, d := range directives() {
		if d.name == name {
			return d.run(s, ctx, strings.TrimSpace(args))
		}
	}
	return fmt.Errorf("there is no %s; :help lists what there is", name)
}

const replHelp = `A line is a command for bash. While it runs, Ctrl-C ends it and all it started, Ctrl-Z
lets it go on in the background. !COMMAND runs in a terminal of its own: keys go there,
Ctrl-] leaves it. Besides:

`

func (s *shell) help(context.Context, string) error {
	fmt.Print(replHelp)
	for _, d := range directives() {
		fmt.Printf("  %-20s %s\n", d.name+" "+d.args, d.about)
	}
	return nil
}

func (s *shell) quit(context.Context, string) error { return errQuit }

func (s *shell) cd(ctx context.Context, dir string) error {
	if dir == "" {
		fmt.Println(s.dir)
		return nil
	}
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		dir = os.Getenv("HOME") + dir[1:]
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.dir, dir)
	}
	// The plugin checks whether the directory exists: it may run on another machine.
	_, err := s.client.Execute(ctx, shared.ExecuteRequest{Command: "true", Dir: dir})
	if err == nil {
		s.dir = dir
	}
	return err
}

func (s *shell) jobs(ctx context.Context, _ string) error {
	list, err := s.client.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	if err != nil {
		return err
	}
	if len(list.Jobs) == 0 {
		fmt.Println("no jobs")
		return nil
	}
	fmt.Printf("%-8s%-19s%-8s%-10s%-10s%s\n", "PID", "STATUS", "AGE", "CPU", "MEMORY", "COMMAND")
	for _, job := range list.Jobs {
		status := string(job.Status)
		if n := len(job.Leftover); n > 0 {
			status += fmt.Sprintf(", %d left", n)
		}
		memory := "-"
		if job.Usage.MaxMemory > 0 {
			memory = units.BytesSize(float64(job.Usage.MaxMemory))
		}
		age := time.Since(job.Started).Truncate(time.Second)
		cpu := job.Usage.CPU.Round(10 * time.Millisecond)
		fmt.Printf("%-8d%-19s%-8v%-10v%-10s%s\n", job.PID, status, age, cpu, memory, oneLine(job.Command))
	}
	return nil
}

func (s *shell) check(ctx context.Context, pid int, _ string) error {
	return s.showJob(s.client.Check(ctx, shared.CheckRequest{PID: pid}))
}

func (s *shell) wait(ctx context.Context, pid int, pattern string) error {
	check := func(ctx context.Context) (*shared.Result, error) {
		return s.client.Check(ctx, shared.CheckRequest{PID: pid, Wait: forever, WaitFor: pattern})
	}
	onKey := func(_ os.Signal, stop func()) { stop() }
	return s.showJob(s.attend(ctx, check, onKey))
}

func (s *shell) killJobs(ctx context.Context, args string) error {
	if args == "all" {
		return s.kill(ctx, shared.AllJobs, "")
	}
	return ofJob((*shell).kill)(s, ctx, args)
}

func (s *shell) kill(ctx context.Context, pid int, _ string) error {
	result, err := s.client.Kill(ctx, shared.KillRequest{PID: pid})
	if err != nil {
		return err
	}
	for _, job := range append(result.Jobs, *result) {
		if job.PID != 0 {
			showState(&job)
		}
	}
	return nil
}

// showJob prints a job's new output and its state.
func (s *shell) showJob(r *shared.Result, err error) error {
	if err != nil {
		return err
	}
	show(os.Stdout, r.Stdout, "\n")
	show(os.Stderr, r.Stderr, "\n")
	showState(r)
	return nil
}

func showState(r *shared.Result) {
	fmt.Fprintf(os.Stderr, "[job %d: %s]\n", r.PID, outcome(r))
	for _, p := range r.Leftover {
		fmt.Fprintf(os.Stderr, "[left running: %d %s]\n", p.PID, oneLine(p.Command))
	}
	for _, p := range r.Ended {
		fmt.Fprintf(os.Stderr, "[ended: %d %s]\n", p.PID, oneLine(p.Command))
	}
}
