package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

// run runs one command and exits as it does.
func run(args []string) (int, error) {
	set := newFlagSet("run", "[flags] [--] COMMAND", "Run one command and wait for its end, also where it goes on as a job. Ctrl-C\nends the command and all it started; nothing outlives this program.")
	var launch launchFlags
	launch.register(set)
	asJSON := set.Bool("json", false, "print the whole Result as JSON, at the command's end, instead of the output")
	mode := set.String("mode", string(shared.ModeDetach), "what happens at the timeout: detach, terminate, background or auto")
	timeout := set.Duration("timeout", 0, fmt.Sprintf("how long to wait (default %v)", shared.DefaultTimeout))
	merge := set.Bool("merge", false, "merge stderr into stdout (where both go to the same place they are, but for -json)")
	if err := set.Parse(args); err != nil {
		return usageError, quietly(err)
	}
	if set.NArg() == 0 {
		set.Usage()
		return usageError, errors.New("there is no COMMAND")
	}
	if err := checkFlags(shared.Mode(*mode), *timeout); err != nil {
		return usageError, err
	}
	req := shared.ExecuteRequest{
		Command: strings.Join(set.Args(), " "),
		Mode:    shared.Mode(*mode),
		Timeout: *timeout,
		Merge:   *merge || !*asJSON && oneStream(),
	}
	ctx, stop := interruptible()
	defer stop(nil)
	client, err := launch.launch(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	defer client.Close()
	broken := brokenPipe(stop)
	r := runner{client: client, out: newOutlet(os.Stdout, broken), err: newOutlet(os.Stderr, broken)}
	if *asJSON {
		return r.json(ctx, req)
	}
	return r.run(ctx, req)
}

// checkFlags refuses what the plugin would, in terms of the flags.
func checkFlags(mode shared.Mode, timeout time.Duration) error {
	switch mode {
	case "", shared.ModeDetach, shared.ModeTerminate, shared.ModeBackground, shared.ModeAuto:
	default:
		return fmt.Errorf("-mode is %q: use %s, %s, %s or %s", mode, shared.ModeDetach, shared.ModeTerminate, shared.ModeBackground, shared.ModeAuto)
	}
	if timeout < 0 {
		return fmt.Errorf("-timeout is %v: use 0 for the default, or a positive duration", timeout)
	}
	return nil
}

type runner struct {
	client   *shared.Client
	out, err *outlet
}

// json prints the Result at the command's end.
func (r *runner) json(ctx context.Context, req shared.ExecuteRequest) (int, error) {
	result, err := r.client.Execute(ctx, req)
	if err == nil && result.Status == shared.StatusRunning {
		fmt.Fprint(r.err, notice(result, "the Result comes at its end"))
		result, err = r.follow(ctx, result.PID)
	}
	if err != nil {
		return failure(ctx, err)
	}
	encoder := json.NewEncoder(r.out)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(result) // exitCode tells
	r.tellLeftover(result, r.endLeftover(ctx, result))
	return r.exitCode(ctx, result)
}

// run copies the output as it comes, of a job too, until it ends.
func (r *runner) run(ctx context.Context, req shared.ExecuteRequest) (int, error) {
	req.Stdout, req.Stderr, req.Lossless = r.out, r.err, true
	result, err := r.client.Execute(ctx, req)
	detached := err == nil && result.Status == shared.StatusRunning
	if detached {
		fmt.Fprint(r.err, notice(result, "its output goes on here"))
		result, err = r.follow(ctx, result.PID)
	}
	if err != nil {
		return failure(ctx, err)
	}
	if told := r.finish(ctx, result); !told && !detached {
		removeLogs(result)
	}
	return r.exitCode(ctx, result)
}

// follow waits for the end of a job's bash. An interrupt kills the job.
func (r *runner) follow(ctx context.Context, pid int) (*shared.Result, error) {
	for {
		result, err := r.client.Check(ctx, shared.CheckRequest{PID: pid, Wait: time.Hour, All: true})
		switch {
		case ctx.Err() != nil:
			return r.client.Kill(context.WithoutCancel(ctx), shared.KillRequest{PID: pid})
		case err != nil:
			return nil, err
		case result.Status != shared.StatusRunning:
			return result, nil
		}
	}
}

// leftoverGrace is what a process that a command left running has to end.
const leftoverGrace = 500 * time.Millisecond

// quietEnd is how long no output means its end, where nobody tells.
const quietEnd = time.Second

// finish ends what the command left running, waits until all output is
// written, and says what the output does not. It reports whether that names the
// logs.
func (r *runner) finish(ctx context.Context, result *shared.Result) (told bool) {
	left := r.endLeftover(ctx, result)
	r.out.drain(ctx, quietEnd)
	r.err.drain(ctx, quietEnd)
	r.tellLeftover(result, left)
	if told = r.out.hasSkipped() || r.err.hasSkipped(); told {
		tellWhole(r.err, result, "bytes were skipped above", r.out.bytes.Load()+r.err.bytes.Load())
	}
	if result.Cause == shared.CauseTimeout {
		fmt.Fprintf(r.err, "[killed at the timeout, after %v]\n", result.Duration.Round(time.Millisecond))
	}
	return told
}

// removeLogs removes the logs of an output that was copied and that nobody knows
// of.
func removeLogs(result *shared.Result) {
	for _, out := range []shared.Output{result.Stdout, result.Stderr} {
		if out.Path != "" {
			_ = os.Remove(out.Path)
		}
	}
}

// endLeftover returns what could not be ended.
func (r *runner) endLeftover(ctx context.Context, result *shared.Result) []shared.Process {
	if len(result.Leftover) == 0 {
		return nil
	}
	final, err := r.client.Kill(context.WithoutCancel(ctx), shared.KillRequest{PID: result.PID, Grace: leftoverGrace})
	if err != nil { // Close ends it
		return nil
	}
	return final.Leftover
}

func (r *runner) tellLeftover(result *shared.Result, left []shared.Process) {
	for _, p := range result.Leftover {
		what := "ended with this program, the command had left it running"
		if slices.ContainsFunc(left, func(l shared.Process) bool { return l.PID == p.PID }) {
			what = "could not be ended, it hangs or runs as another user"
		}
		fmt.Fprintf(r.err, "[%s: %d %s]\n", what, p.PID, oneLine(p.Command))
	}
}

// tellWhole says where all of an output is, the copy of which is not whole, or
// why it is nowhere. Of short ones nothing is ever left out. Long ones without a
// log had no text, such as NULs.
func tellWhole(to io.Writer, result *shared.Result, what string, size int64) {
	if result.Stdout.Path+result.Stdout.PathError+result.Stderr.Path+result.Stderr.PathError == "" && size > shared.MaxMaxBytes {
		fmt.Fprintf(to, "[%s]\n", what)
	}
	var reason string
	for _, out := range []shared.Output{result.Stdout, result.Stderr} {
		switch {
		case out.Path != "":
			fmt.Fprintf(to, "[%s; the whole output as text: %s]\n", what, quote(out.Path))
			if out.PathError != "" {
				fmt.Fprintf(to, "[that is incomplete: %s]\n", out.PathError)
			}
		case out.PathError != "" && out.PathError != reason: // once for both
			reason = out.PathError
			fmt.Fprintf(to, "[%s; %s]\n", what, reason)
		}
	}
}

// exitCode is the command's own, unless this program was stopped or could not
// write the output.
func (r *runner) exitCode(ctx context.Context, result *shared.Result) (int, error) {
	if code, ok := stopCode(ctx); ok {
		return code, nil
	}
	if err := errors.Join(r.out.failure(), r.err.failure()); err != nil {
		return 1, fmt.Errorf("cannot write the output: %w", err)
	}
	return max(result.ExitCode, 0), nil
}

// notice says how to deal with a command that goes on as a job, and what this
// program does about it.
func notice(r *shared.Result, next string) string {
	return fmt.Sprintf(`[still running after %v, as job %d; %s]
[follow: %s]
[check:  ps -o pid,stat,etime,args -g %d]
[kill:   Ctrl-C here, or kill -TERM -- -%d elsewhere]
`, r.Duration.Round(time.Millisecond), r.PID, next, follow(r), r.PID, r.PID)
}

// follow says how to follow a job's logs, or why there are none.
func follow(r *shared.Result) string {
	command, reason := "tail -f", "there is no log"
	for _, out := range []shared.Output{r.Stdout, r.Stderr} {
		if out.Path != "" {
			command += " " + quote(out.Path)
		} else if out.PathError != "" {
			reason = out.PathError
		}
	}
	if command == "tail -f" {
		return reason
	}
	return command
}
