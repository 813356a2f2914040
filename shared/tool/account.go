package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// account is the text about a command in the foreground: why it was killed, its
// output, its exit code, how much of the output is left out, and the processes it
// left running. manage tells the model how to reach these processes.
func account(r *shared.Result, timeout time.Duration, manage string) string {
	text := streams(r) + "exit code: " + exitCode(r) + omissions(r)
	if why := killed(r, timeout); why != "" {
		why = bracket("Command "+why+".", "")
		if r.PID == 0 {
			return why
		}
		text = why + "\n\n" + text
	}
	if len(r.Leftover) > 0 {
		text += "\n" + bracket("Still running in the background: "+listed(r.Leftover)+". "+manage, "")
	}
	return text
}

// killed says why this tool ended a command, as in "cancelled and killed"; "" if
// it did not. timeout is the command's timeout, 0 if that is unknown.
func killed(r *shared.Result, timeout time.Duration) string {
	switch {
	case r.Status != shared.StatusKilled:
		return ""
	case r.PID == 0:
		return "cancelled before it was started: nothing was run"
	case r.Cause == shared.CauseTimeout && timeout == 0:
		return "timed out and was killed"
	case r.Cause == shared.CauseTimeout:
		return "timed out after " + seconds(timeout) + " and was killed"
	case r.Cause == shared.CauseCancel:
		return "cancelled and killed"
	case r.Cause == shared.CauseClose:
		return "killed: the session was closed"
	case r.Exceeded != "":
		return "killed: " + r.Exceeded
	}
	return "killed"
}

// unasked is killed as a sentence, but "" if the model asked for it by Kill.
func unasked(r *shared.Result) string {
	if why := killed(r, 0); why != "" && r.Cause != shared.CauseKill {
		return "Command " + why + "."
	}
	return ""
}

// over reports whether neither bash nor any process that it left behind runs.
func over(r *shared.Result) bool {
	return r.Status != shared.StatusRunning && len(r.Leftover) == 0
}

// unstoppable says why a process outlives SIGKILL.
const unstoppable = "the system does not let it end (it hangs, or runs as another user)"

func exitCode(r *shared.Result) string {
	code := strconv.Itoa(r.ExitCode)
	if r.Signal != "" {
		code += " (" + r.Signal + ")"
	}
	return code
}

// listed names the first of some processes.
func listed(all []shared.Process) string {
	return processes(all, 10, ", ", func(p shared.Process) string {
		return fmt.Sprintf("%d (%s)", p.PID, shorten(oneLine(p.Command), maxQuoted))
	})
}

// endedToo says which processes a Kill ended besides bash; "" if there were none.
func endedToo(r *shared.Result) string {
	if len(r.Ended) == 0 {
		return ""
	}
	return "It also ended " + listed(r.Ended) + "."
}

// pids lists the pids of at most so many left-over processes.
func pids(r *shared.Result, most int, separator string) string {
	return processes(r.Leftover, most, separator, func(p shared.Process) string { return strconv.Itoa(p.PID) })
}

func processes(all []shared.Process, most int, separator string, name func(shared.Process) string) string {
	var names []string
	for _, p := range all[:min(most, len(all))] {
		names = append(names, name(p))
	}
	if more := len(all) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, separator)
}

// shown is the text of a stream, where a line that is still being written is marked, and so
// is a middle that is left out. If all output of the command was no text, it says so.
func shown(r *shared.Result, o shared.Output) string {
	middle := ""
	if o.Head != "" {
		middle = "[the middle is left out]\n"
	}
	return shownAround(r, o, middle)
}

// shownAround is shown with a line for the middle that is left out; "" if there is none.
func shownAround(r *shared.Result, o shared.Output, middle string) string {
	text := o.Content
	if middle != "" {
		text = aroundCut(o, middle)
	}
	switch {
	case o.Partial && o.Content != "" && !over(r):
		return text + "\n[the line above is not finished]\n"
	case o.Dropped > 0 && r.Stdout.TotalBytes+r.Stderr.TotalBytes == 0:
		return "[" + count(int(o.Dropped), "byte") + " that are not text]\n"
	}
	return text
}

// aroundCut is both ends of a stream, where "…" marks a line that is cut.
func aroundCut(o shared.Output, middle string) string {
	head, tail := o.Head, o.Content
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "…\n"
	}
	if o.StartsMidLine {
		tail = "…" + tail
	}
	return head + middle + tail
}

// streams shows the streams that are not empty.
func streams(r *shared.Result) string {
	return section("stdout:", shown(r, r.Stdout)) + section("stderr:", shown(r, r.Stderr))
}

// headed is streams under other headings, which say how much is shown: always, or of a
// truncated stream.
func headed(r *shared.Result, stdout, stderr string, always bool) string {
	heading := func(name string, o shared.Output) string {
		if always || o.Truncated {
			name += " (" + amount(o) + ")"
		}
		return name + ":"
	}
	return section(heading(stdout, r.Stdout), shown(r, r.Stdout)) + section(heading(stderr, r.Stderr), shown(r, r.Stderr))
}

// amount says how much of a stream is shown.
func amount(o shared.Output) string {
	switch {
	case o.Head != "":
		ends, _ := bothEnds(o)
		return ends
	case o.LastLinePartial:
		return "last " + count(o.OutputBytes, "byte")
	case o.Truncated:
		return "last " + count(o.OutputLines, "line")
	}
	return count(o.OutputLines, "line")
}

// bothEnds says how much of both ends of a stream is shown, and how much there is: in lines,
// or in bytes if one of the ends is only a part of a line.
func bothEnds(o shared.Output) (ends, all string) {
	head, tail, total, unit := len(o.Head), len(o.Content), o.TotalBytes, "byte"
	isPart := !strings.Contains(o.Head, "\n") || o.StartsMidLine && lineCount(o.Content) == 1
	if !isPart {
		head, tail, total, unit = lineCount(o.Head), lineCount(o.Content), o.TotalLines, "line"
	}
	return fmt.Sprintf("first %d and last %s", head, count(tail, unit)), count(int(total), unit)
}

// omissions has a line for each truncated stream.
func omissions(r *shared.Result) string {
	return omission("stdout", r.Stdout) + omission("stderr", r.Stderr)
}

func omission(name string, o shared.Output) string {
	switch {
	case !o.Truncated:
		return ""
	case o.OutputBytes == 0:
		return fmt.Sprintf("\n[%s: %s, not shown again. %s]", name, count(int(o.TotalLines), "line"), fullOutput(o))
	case o.Head != "":
		ends, all := bothEnds(o)
		return fmt.Sprintf("\n[%s: Showing %s; %s in all. %s]", name, ends, all, fullOutput(o))
	case o.LastLinePartial:
		return fmt.Sprintf("\n[%s: Showing last %d of %d bytes, the end of a long line. %s]", name, o.OutputBytes, o.TotalBytes, fullOutput(o))
	case o.StartsMidLine:
		return fmt.Sprintf("\n[%s: Showing last %d of %d lines, the first one cut. %s]", name, o.OutputLines, o.TotalLines, fullOutput(o))
	}
	return fmt.Sprintf("\n[%s: Showing last %d of %d lines. %s]", name, o.OutputLines, o.TotalLines, fullOutput(o))
}

// notable has the lines that look like errors of what is left out.
func notable(name string, o shared.Output) string {
	var text strings.Builder
	for _, line := range o.Notable {
		fmt.Fprintf(&text, "\n%d: %s", line.Number, line.Text)
	}
	if text.Len() > 0 {
		return "\n" + bracket(name+"Lines left out that look like errors:"+text.String(), "")
	}
	return ""
}

// waiting says what a command that runs waits for, if a model can do something about it.
func waiting(opts Options, r *shared.Result) string {
	what, object, _ := strings.Cut(r.Waiting, " ")
	it := "It"
	if r.Stdout.TotalBytes+r.Stderr.TotalBytes == 0 && r.Duration >= time.Second {
		it = "It has written nothing for " + r.Duration.Truncate(time.Second).String() + " and"
	}
	sentence := map[string]string{
		"input":   "It waits for input on its stdin: send some with {bash_input}.",
		"lock":    it + " waits for a lock on " + object + ".",
		"network": it + " waits for the network: " + object + ".",
	}[what]
	return strings.TrimSuffix("\n"+bracket(opts.fill(sentence), ""), "\n[]")
}

// fullOutput names the log of a stream.
func fullOutput(o shared.Output) string {
	switch {
	case o.Path == "" && o.PathError == "":
		return "The rest was not kept."
	case o.Path == "":
		return "The rest was not kept: " + o.PathError
	case o.PathError != "":
		return fmt.Sprintf("Full output file is incomplete: %s (%s)", o.Path, o.PathError)
	}
	return "Full output: " + o.Path
}

// logs names the logs of a job; nil if it has none.
func logs(r *shared.Result) (lines []string) {
	for _, o := range []shared.Output{r.Stdout, r.Stderr} {
		if o.Path != "" || o.PathError != "" {
			lines = append(lines, fullOutput(o))
		}
	}
	return lines
}
