package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// account is the whole text about a command that was waited for: why it was
// killed, if it was, its streams, how it ended, what is left out and what it
// left running. timeout is the one it had; manage says how to reach the rest.
func account(r *shared.Result, timeout time.Duration, manage string) string {
	var b strings.Builder
	if why := killed(r, timeout); why != "" {
		b.WriteString(bracket(why, ""))
		if r.PID == 0 {
			return b.String()
		}
		b.WriteString("\n\n")
	}
	b.WriteString(streams(r))
	b.WriteString("exit code: " + exitCode(r))
	b.WriteString(omissions(r))
	if len(r.Leftover) > 0 {
		b.WriteString("\n" + bracket("Still running in the background: "+leftover(r.Leftover)+". "+manage, ""))
	}
	return b.String()
}

// streams shows the streams that hold anything.
func streams(r *shared.Result) string {
	return section("stdout:", r.Stdout.Content) + section("stderr:", r.Stderr.Content)
}

// tails does, too, and tells of a stream that is cut how much of it is shown.
func tails(r *shared.Result) string {
	return section("stdout"+extent(r.Stdout)+":", r.Stdout.Content) + section("stderr"+extent(r.Stderr)+":", r.Stderr.Content)
}

func extent(o shared.Output) string {
	if !o.Truncated {
		return ""
	}
	return " (" + amount(o) + ")"
}

// amount says how much of a stream is shown.
func amount(o shared.Output) string {
	switch {
	case o.LastLinePartial:
		return "last " + count(o.OutputBytes, "byte")
	case o.Truncated:
		return "last " + count(o.OutputLines, "line")
	}
	return count(o.OutputLines, "line")
}

func exitCode(r *shared.Result) string {
	code := strconv.Itoa(r.ExitCode)
	if r.Signal != "" {
		code += " (" + r.Signal + ")"
	}
	return code
}

// killed says why this tool ended a command that had the timeout (0: nobody
// knows which); "" where it did not.
func killed(r *shared.Result, timeout time.Duration) string {
	switch {
	case r.Status != shared.StatusKilled:
		return ""
	case r.PID == 0:
		return "Command cancelled before it was started: nothing was run."
	case r.Cause == shared.CauseTimeout && timeout == 0:
		return "Command timed out and was killed."
	case r.Cause == shared.CauseTimeout:
		return "Command timed out after " + seconds(timeout) + " and was killed."
	case r.Cause == shared.CauseCancel:
		return "Command cancelled and killed."
	case r.Cause == shared.CauseClose:
		return "Command killed: the session was closed."
	}
	return "Command killed."
}

// over reports whether nothing of a command runs any more.
func over(r *shared.Result) bool {
	return r.Status != shared.StatusRunning && len(r.Leftover) == 0
}

// unstoppable is why a process outlives SIGKILL.
const unstoppable = "the system does not let it end (it hangs, or runs as another user)"

// leftover names the processes that a command left running, within bounds.
func leftover(ps []shared.Process) string {
	const most = 10
	var named []string
	for _, p := range ps[:min(most, len(ps))] {
		named = append(named, fmt.Sprintf("%d (%s)", p.PID, shorten(oneLine(p.Command), maxQuoted)))
	}
	if more := len(ps) - most; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
}

// omissions says, a line for each stream that the limits cut, what is left out.
func omissions(r *shared.Result) string {
	var lines string
	for _, s := range []struct {
		name string
		shared.Output
	}{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		if s.Truncated {
			lines += fmt.Sprintf("\n[%s: %s %s]", s.name, showing(s.Output), fullOutput(s.Output))
		}
	}
	return lines
}

func showing(o shared.Output) string {
	if o.LastLinePartial {
		return fmt.Sprintf("Showing last %d of %d bytes, the end of a long line.", o.OutputBytes, o.TotalBytes)
	}
	return fmt.Sprintf("Showing last %d of %d lines.", o.OutputLines, o.TotalLines)
}

// fullOutput says where the whole of a stream is.
func fullOutput(o shared.Output) string {
	switch {
	case o.Path == "" && o.PathError == "":
		return "The rest was not kept."
	case o.Path == "":
		return "The rest was not kept: " + o.PathError
	case o.PathError != "":
		return fmt.Sprintf("Full output file may be incomplete: %s (%s)", o.Path, o.PathError)
	}
	return "Full output: " + o.Path
}

// logs says where the whole output of a job is; nil where it has no log.
func logs(r *shared.Result) []string {
	stdout, stderr := r.Stdout, r.Stderr
	if stdout.Path != "" && stderr.Path != "" && stdout.PathError == "" && stderr.PathError == "" {
		return []string{fmt.Sprintf("Full output: %s (stdout), %s (stderr)", stdout.Path, stderr.Path)}
	}
	var lines []string
	for _, o := range []shared.Output{stdout, stderr} {
		if o.Path != "" || o.PathError != "" {
			lines = append(lines, fullOutput(o))
		}
	}
	return lines
}
