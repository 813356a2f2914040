package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// demo is a guided tour of the plugin, each step with real commands and with a
// check that its claim holds.
func demo(args []string) (int, error) {
	set, launch := newFlagSet("demo")
	if err := parse(set, args); err != nil {
		return usageError, err
	}
	return launch.with(func(ctx context.Context, client *host.Client) (int, error) {
		t := &tour{ctx: ctx, bash: client}
		for i, step := range t.steps() {
			fmt.Printf("\n%d. %s\n   $ %s\n", i+1, step.title, step.command)
			step.run(step.command)
			if t.failed != nil {
				return 1, fmt.Errorf("step %d: %w", i+1, t.failed)
			}
		}
		_, err := fmt.Println("\nEvery step was as described.")
		return 0, err
	})
}

// tour goes through the steps until one fails.
type tour struct {
	ctx    context.Context
	bash   *host.Client
	failed error
}

type step struct {
	title   string
	command string
	run     func(command string)
}

func (t *tour) steps() []step {
	steps := []step{
		{
			"A command: two streams, apart, without colours, as its terminal would show them",
			`printf '\033[32m✓ built\033[0m\n'; printf '10%%\r50%%\r100%%\n'; echo "a warning" >&2`,
			t.streams,
		},
		{
			"A command that fails is a result, not an error",
			`ls /nowhere; exit 42`,
			t.failure,
		},
		{
			"A flood: the end on screen, exact counts, everything in a log",
			`seq 1 2000000`,
			t.flood,
		},
		{
			"A command that takes longer than its timeout goes on as a job: wait for a line, then kill it",
			`echo starting; sleep 0.5; echo listening on :8080; sleep 1000`,
			t.detach,
		},
		{
			"A command that leaves a process behind returns at once, and lists the process",
			`setsid sleep 1000 & echo done`,
			t.leftover,
		},
		{
			"A command that asks gets an answer: it has a terminal, and a Check types into it",
			`read -rp 'Go on? ' answer; echo "you said $answer"`,
			t.answer,
		},
		{
			"A command that hangs: its Result says what it waits for",
			`cd "$(mktemp -d)"; exec 9>lock; flock 9; flock lock true`,
			t.hang,
		},
		{
			"A cancelled call ends the whole tree and returns the output so far",
			`echo working; sleep 1000 | sleep 1000`,
			t.cancel,
		},
	}
	if os.Getenv(host.ReattachName) != "" {
		fmt.Printf("The plugin's crash is left out: %s names one under a debugger.\n", host.ReattachName)
		return steps
	}
	return append(steps, step{
		"The plugin is killed in mid-command: the host goes on with a fresh one",
		`kill -9 $PPID; sleep 1000`,
		t.crash,
	})
}

func (t *tour) streams(command string) {
	r := t.execute(command)
	t.want(r.Stdout.Content == "✓ built\n100%\n" && r.Stderr.Content == "a warning\n", "clean streams", r)
}

func (t *tour) failure(command string) {
	r := t.execute(command)
	t.want(r.Status == shared.StatusFailed && r.ExitCode == 42, "exit code 42", r)
}

func (t *tour) execute(command string) *shared.Result {
	return t.show(t.bash.Execute(t.ctx, shared.ExecuteRequest{Command: command, Limits: shared.Limits{MaxLines: 3}}))
}

func (t *tour) flood(command string) {
	r := t.execute(command)
	info, err := os.Stat(r.Stdout.Path)
	isWhole := err == nil && info.Size() == r.Stdout.TotalBytes && r.Stdout.TotalLines == 2000000
	t.want(isWhole, "a log with every byte of 2000000 lines", r.Stdout.Path)
}

func (t *tour) detach(command string) {
	r := t.show(t.bash.Execute(t.ctx, shared.ExecuteRequest{Command: command, Timeout: 200 * time.Millisecond}))
	t.want(r.Status == shared.StatusRunning, "a running job", r)
	fmt.Printf("   check %d, waiting for \"listening\"\n", r.PID)
	c := t.show(t.bash.Check(t.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, WaitFor: "listening on"}))
	t.want(r.Stdout.Content+c.Stdout.Content == "starting\nlistening on :8080\n", "each line once", c.Stdout.Content)
	t.kill(r.PID, r.PID)
}

func (t *tour) leftover(command string) {
	r := t.execute(command)
	isOne := r.Status == shared.StatusCompleted && len(r.Leftover) == 1
	t.want(isOne && r.Duration < 5*time.Second, "one left-over process", r)
	if t.failed == nil {
		t.kill(r.PID, r.Leftover[0].PID)
	}
}

func (t *tour) answer(command string) {
	r := t.show(t.bash.Execute(t.ctx, shared.ExecuteRequest{
		Command: command,
		Stdin:   shared.StdinTTY,
		Mode:    shared.ModeBackground,
	}))
	c := t.show(t.bash.Check(t.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, WaitFor: `\? $`}))
	for c.Screen == "" && c.Status == shared.StatusRunning { // the picture may be late
		c = t.show(t.bash.Check(t.ctx, shared.CheckRequest{PID: r.PID, All: true}))
	}
	t.want(c.Screen == "Go on?", "a prompt", c)
	c = t.show(t.bash.Check(t.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, Input: "yes\r"}))
	t.want(strings.Contains(c.Stdout.Content, "you said yes\n"), "the answer", c)
}

func (t *tour) hang(command string) {
	r := t.show(t.bash.Execute(t.ctx, shared.ExecuteRequest{Command: command, Timeout: time.Second}))
	for range 30 { // a busy machine has not brought it to the lock yet
		if r.Waiting != "" || runtime.GOOS != "linux" {
			break
		}
		r = t.show(t.bash.Check(t.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Second}))
	}
	t.want(strings.HasPrefix(r.Waiting, "lock /") || runtime.GOOS != "linux", "a lock", r)
	t.kill(r.PID, r.PID)
}

func (t *tour) cancel(command string) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	r := t.show(t.bash.Execute(ctx, shared.ExecuteRequest{Command: command, Stdout: onWrite(cancel)}))
	t.want(r.Cause == shared.CauseCancel && r.Stdout.Content == "working\n", "a cancelled command", r)
}

// onWrite is a live writer that calls a function.
type onWrite func()

func (f onWrite) Write(text []byte) (int, error) {
	f()
	return len(text), nil
}

func (t *tour) crash(command string) {
	_, err := t.bash.Execute(t.ctx, shared.ExecuteRequest{Command: command})
	fmt.Printf("   the call under way: %v\n", err)
	t.want(errors.Is(err, shared.ErrCrashed), "an error", err)
	t.want(t.execute("echo back again").Stdout.Content == "back again\n", "a fresh plugin", "none")
}

// kill ends a job, and with it one of its processes.
func (t *tour) kill(job, process int) {
	fmt.Printf("   kill %d\n", job)
	r := t.show(t.bash.Kill(t.ctx, shared.KillRequest{PID: job}))
	t.want(isGone(process), "that nothing is left", r)
}

func isGone(process int) bool {
	p, err := os.FindProcess(process)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// show prints a Result.
func (t *tour) show(r *shared.Result, err error) *shared.Result {
	if err != nil {
		t.want(false, "a Result", err)
		return new(shared.Result)
	}
	fmt.Println("   " + strings.ReplaceAll(r.String(), "\n", "\n   "))
	return r
}

// want fails the tour if a step's claim does not hold.
func (t *tour) want(holds bool, claim string, got any) {
	if !holds && t.failed == nil {
		t.failed = fmt.Errorf("expected %s, got %+v", claim, got)
	}
}
