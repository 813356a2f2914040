package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"bashplugin/shared"
)

// demo shows what the plugin does, each step with real commands and with a
// check that what it says is so.
func demo(args []string) (int, error) {
	set := newFlagSet("demo", "[flags]", "A guided tour. Each step fails loudly where it does not hold.")
	var launch launchFlags
	launch.register(set)
	if err := parseFlags(set, args); err != nil {
		return usageError, err
	}
	ctx, stop := interruptible()
	defer stop(nil)
	started := time.Now()
	client, err := launch.launch(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	defer client.Close()
	t := &tour{ctx: ctx, bash: client, out: newOutlet(os.Stdout, brokenPipe(stop))}
	fmt.Fprintf(t.out, "The plugin runs as process %d, ready after %v.\n", client.PluginPID(), time.Since(started).Round(time.Millisecond))
	steps := []func(){t.streams, t.failure, t.flood, t.detach, t.leftover, t.cancel}
	debugged := os.Getenv(shared.ReattachName) != ""
	if !debugged {
		steps = append(steps, t.crash)
	}
	for _, step := range steps {
		if step(); t.failed != nil {
			return failure(ctx, t.failed)
		}
	}
	if debugged {
		fmt.Fprintf(t.out, "\nThe plugin's crash is left out: %s names one that somebody is debugging.\n", shared.ReattachName)
	}
	if err := client.Close(); err != nil {
		return 1, err
	}
	fmt.Fprintln(t.out, "\nThe plugin is closed. Every step was as described.")
	if err := t.out.failure(); err != nil {
		return 1, fmt.Errorf("cannot write the tour: %w", err)
	}
	return 0, nil
}

// tour goes through the steps until one fails.
type tour struct {
	ctx    context.Context
	bash   *shared.Client
	out    *outlet
	number int
	failed error
}

func (t *tour) title(text string) {
	t.number++
	fmt.Fprintf(t.out, "\n%d. %s\n", t.number, text)
}

func (t *tour) execute(req shared.ExecuteRequest) *shared.Result {
	fmt.Fprintf(t.out, "   $ %s\n", req.Command)
	r, err := t.bash.Execute(t.ctx, req)
	return t.show(r, err)
}

// show prints the parts of a Result that matter.
func (t *tour) show(r *shared.Result, err error) *shared.Result {
	if err != nil {
		t.fail("a Result", "an error: "+err.Error())
		return &shared.Result{}
	}
	fmt.Fprintf(t.out, "   pid %d, %s", r.PID, r.Status)
	if r.Cause != "" {
		fmt.Fprintf(t.out, " (%s)", r.Cause)
	}
	fmt.Fprintf(t.out, ", exit code %d, %v\n", r.ExitCode, r.Duration.Round(100*time.Microsecond))
	for _, stream := range []struct {
		name string
		out  shared.Output
	}{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		t.showOutput(stream.name, stream.out)
	}
	for _, p := range r.Leftover {
		fmt.Fprintf(t.out, "   left running: %d %s\n", p.PID, p.Command)
	}
	return r
}

func (t *tour) showOutput(name string, out shared.Output) {
	lines := strings.Split(strings.TrimSuffix(out.Content, "\n"), "\n")
	if len(lines) > 3 {
		lines = append([]string{"…"}, lines[len(lines)-2:]...)
	}
	for _, line := range lines {
		if out.Content != "" {
			fmt.Fprintf(t.out, "   %s: %s\n", name, line)
		}
	}
	if out.Truncated {
		fmt.Fprintf(t.out, "   %s: last %d of %d lines (%d of %d bytes), all of them in %s\n", name, out.OutputLines, out.TotalLines, out.OutputBytes, out.TotalBytes, out.Path)
	}
}

// want fails the tour where a step's claim does not hold.
func (t *tour) want(holds bool, claim string, got any) {
	if !holds {
		t.fail(claim, fmt.Sprintf("%+v", got))
	}
}

func (t *tour) fail(claim, got string) {
	if t.failed == nil {
		t.failed = fmt.Errorf("step %d: expected %s, got %s", t.number, claim, got)
	}
}

func (t *tour) streams() {
	t.title("A command: two streams, apart, without colours, as its terminal would show them")
	r := t.execute(shared.ExecuteRequest{Command: `printf '\033[32m✓ built\033[0m\n'; printf '10%%\r50%%\r100%%\n'; echo "a warning" >&2`})
	t.want(r.Stdout.Content == "✓ built\n100%\n" && r.Stderr.Content == "a warning\n", "clean streams", r)
}

func (t *tour) failure() {
	t.title("A command that fails is a result, not an error")
	r := t.execute(shared.ExecuteRequest{Command: `ls /nowhere; exit 42`})
	t.want(r.Status == shared.StatusFailed && r.ExitCode == 42, "exit code 42", r)
}

func (t *tour) flood() {
	t.title("A flood: the end on screen, exact counts, everything in a log")
	r := t.execute(shared.ExecuteRequest{Command: `seq 1 2000000`})
	info, err := os.Stat(r.Stdout.Path)
	t.want(err == nil && info.Size() == r.Stdout.TotalBytes && r.Stdout.TotalLines == 2000000, "a log with every byte of 2000000 lines", r.Stdout.Path)
	t.want(strings.HasSuffix(r.Stdout.Content, "\n2000000\n") && r.Stdout.OutputLines == 2000, "the last 2000 lines", r.Stdout.OutputLines)
}

func (t *tour) detach() {
	t.title("A command that takes longer than its timeout goes on as a job: wait for a line, then kill it")
	r := t.execute(shared.ExecuteRequest{Command: `echo starting; sleep 0.5; echo listening on :8080; sleep 1000`, Timeout: 200 * time.Millisecond})
	t.want(r.Status == shared.StatusRunning && r.Stdout.Content == "starting\n", "a running job", r)
	if t.failed != nil {
		return
	}
	fmt.Fprintf(t.out, "   check %d, waiting for \"listening\"\n", r.PID)
	c := t.show(t.bash.Check(t.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, WaitFor: "listening on"}))
	t.want(c.Stdout.Content == "listening on :8080\n", "only what is new", c.Stdout.Content)
	fmt.Fprintf(t.out, "   kill %d\n", r.PID)
	k := t.show(t.bash.Kill(t.ctx, shared.KillRequest{PID: r.PID}))
	t.want(k.Status == shared.StatusKilled && syscall.Kill(r.PID, 0) == syscall.ESRCH, "a job that is gone", k)
}

func (t *tour) leftover() {
	t.title("A command that leaves something behind returns at once, and says what")
	r := t.execute(shared.ExecuteRequest{Command: `setsid sleep 1000 & echo done`})
	t.want(r.Status == shared.StatusCompleted && len(r.Leftover) == 1 && r.Duration < 5*time.Second, "one left-over process", r)
	if t.failed != nil {
		return
	}
	fmt.Fprintf(t.out, "   kill %d\n", r.PID)
	t.show(t.bash.Kill(t.ctx, shared.KillRequest{PID: r.PID}))
	t.want(syscall.Kill(r.Leftover[0].PID, 0) == syscall.ESRCH, "no left-over process", r.Leftover[0].PID)
}

func (t *tour) cancel() {
	t.title("A cancelled call ends the whole tree and returns the output so far")
	ctx, cancel := context.WithTimeout(t.ctx, 300*time.Millisecond)
	defer cancel()
	fmt.Fprintln(t.out, "   $ echo working; sleep 1000 | sleep 1000")
	r := t.show(t.bash.Execute(ctx, shared.ExecuteRequest{Command: `echo working; sleep 1000 | sleep 1000`}))
	t.want(r.Status == shared.StatusKilled && r.Cause == shared.CauseCancel && r.Stdout.Content == "working\n", "a cancelled command", r)
}

func (t *tour) crash() {
	t.title("The plugin is killed in mid-command: the host goes on with a fresh one")
	pid := t.bash.PluginPID()
	failed := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		_, err := t.bash.Execute(t.ctx, shared.ExecuteRequest{Command: "echo started; sleep 1000", Stdout: onFirstWrite(ready)})
		failed <- err
	}()
	select {
	case <-ready:
	case err := <-failed:
		t.fail("a command under way", fmt.Sprint("its end: ", err))
		return
	}
	fmt.Fprintf(t.out, "   kill -9 %d (the plugin)\n", pid)
	t.want(syscall.Kill(pid, syscall.SIGKILL) == nil, "a plugin to kill", pid)
	err := <-failed
	fmt.Fprintf(t.out, "   the call under way: %v\n", err)
	t.want(err != nil, "an error", err)
	r := t.execute(shared.ExecuteRequest{Command: "echo back again"})
	t.want(r.Stdout.Content == "back again\n" && t.bash.PluginPID() != pid, "a fresh plugin", r)
	fmt.Fprintf(t.out, "   the plugin runs as process %d now\n", t.bash.PluginPID())
}

// onFirstWrite closes ready when something is written.
func onFirstWrite(ready chan struct{}) writerFunc {
	return func(p []byte) (int, error) {
		select {
		case <-ready:
		default:
			close(ready)
		}
		return len(p), nil
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
