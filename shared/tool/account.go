package tool

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// account is the text about a command in the foreground: why it was killed, its
// output, its exit code, and the processes it left running. manage tells the model how to reach these processes.
func account(r *shared.Result, timeout time.Duration, manage string) string {
	text := beforeCut(r) + streams(r) + "exit code: " + exitCode(r)
	if why := killed(r, timeout); why != "" {
		why = bracket("Command " + why + ".")
		if r.PID == 0 {
			return why
		}
		text = why + "\n\n" + text
	}
	if len(r.Leftover) > 0 {
		text += "\n" + bracket("Still running in the background: "+listed(r.Leftover)+". "+manage)
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

// state says what became of a command, or since when it runs.
func state(r *shared.Result) string {
	if r.Status == shared.StatusRunning {
		return "is running, for " + seconds(r.Duration.Truncate(time.Second))
	}
	return cmp.Or(killed(r, 0), "ended with exit code "+exitCode(r))
}

// unasked is killed as a sentence, but "" if the model itself has ended the command by Kill.
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

// endedToo says which processes a Kill ended besides bash; "" if there were none. The sentence
// has no full stop.
func endedToo(r *shared.Result) string {
	if len(r.Ended) == 0 {
		return ""
	}
	return "It also ended " + listed(r.Ended)
}

// pids lists the pids of at most so many left-over processes.
func pids(r *shared.Result, most int, separator string) string {
	number := func(p shared.Process) string { return strconv.Itoa(p.PID) }
	return processes(r.Leftover, most, separator, number)
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

// shown is the text of a stream. It says where the middle is left out, that the last line is
// still being written, or that all output of the command was no text.
func shown(r *shared.Result, o shared.Output) string {
	middle := ""
	if o.Head != "" {
		middle = "[the middle is left out]\n"
	}
	return shownAround(r, o, middle)
}

// shownAround is shown with a given line in place of the middle that is left out; "": nothing is
// left out.
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
	head := o.Head
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "…\n"
	}
	tail := o.Content
	if o.StartsMidLine {
		tail = "…" + tail
	}
	return head + middle + tail
}

// streams shows the streams that are not empty.
func streams(r *shared.Result) string {
	return section("stdout:", shown(r, r.Stdout)) + section("stderr:", shown(r, r.Stderr))
}

// headed is streams under other headings. A heading says how much is shown if the stream is
// truncated, or always.
func headed(r *shared.Result, stdout, stderr string, always bool) string {
	heading := func(name string, o shared.Output) string {
		if always || o.Truncated {
			name += " (" + amount(o) + ")"
		}
		return name + ":"
	}
	return section(heading(stdout, r.Stdout), shown(r, r.Stdout)) +
		section(heading(stderr, r.Stderr), shown(r, r.Stderr))
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
	const text = "first %d and last %s"
	isPart := !strings.Contains(o.Head, "\n") || o.StartsMidLine && lineCount(o.Content) == 1
	if isPart {
		ends = fmt.Sprintf(text, len(o.Head), count(len(o.Content), "byte"))
		return ends, count(int(o.TotalBytes), "byte")
	}
	ends = fmt.Sprintf(text, lineCount(o.Head), count(lineCount(o.Content), "line"))
	return ends, count(int(o.TotalLines), "line")
}

// beforeCut says what became of a command whose output is truncated, and where all of it is; ""
// if it is not. It stands before the output: some clients cut the end of an answer.
func beforeCut(r *shared.Result) string {
	notes := omission("stdout", r.Stdout) + omission("stderr", r.Stderr)
	if notes == "" {
		return ""
	}
	return bracket("Command "+state(r)) + "\n" + notes
}

// omission is a line about a truncated stream.
func omission(name string, o shared.Output) string {
	if !o.Truncated {
		return ""
	}
	return bracket(name+": "+omitted(o)+". "+fullOutput(o)) + "\n"
}

// omitted says how much of a truncated stream is shown.
func omitted(o shared.Output) string {
	switch {
	case o.OutputBytes == 0:
		return count(int(o.TotalLines), "line") + ", not shown again"
	case o.Head != "":
		ends, all := bothEnds(o)
		return fmt.Sprintf("Showing %s; %s in all", ends, all)
	case o.LastLinePartial:
		return fmt.Sprintf("Showing last %d of %d bytes, the end of a long line", o.OutputBytes, o.TotalBytes)
	}
	text := fmt.Sprintf("Showing last %d of %d lines", o.OutputLines, o.TotalLines)
	if o.StartsMidLine {
		text += ", the first one cut"
	}
	return text
}

// notable has those of the lines left out that look like errors.
func notable(name string, o shared.Output) string {
	if len(o.Notable) == 0 {
		return ""
	}
	text := name + "Lines left out that look like errors:"
	for _, line := range o.Notable {
		text += fmt.Sprintf("\n%d: %s", line.Number, line.Text)
	}
	return "\n" + bracket(text)
}

// waiting says what a command that runs waits for, if a model can do something about it.
func (t *Toolset) waiting(r *shared.Result) string {
	what, object, _ := strings.Cut(r.Waiting, " ")
	it := "It"
	if r.Stdout.TotalBytes+r.Stderr.TotalBytes == 0 && r.Duration >= time.Second {
		it = "It has written nothing for " + r.Duration.Truncate(time.Second).String() + " and"
	}
	sentence := ""
	switch what {
	case "input":
		sentence = "It waits for input on its stdin: send some with " + t.writer() + "."
	case "lock":
		sentence = it + " waits for a lock on " + object + "."
	case "network":
		sentence = it + " waits for the network: " + object + "."
	default:
		return ""
	}
	return "\n" + bracket(sentence)
}

// writer names the tool that writes to a job.
func (t *Toolset) writer() string {
	for _, tool := range t.tools {
		if tool.arguments["Input"] != "" && tool.arguments["Command"] == "" {
			return tool.Name
		}
	}
	return "another tool"
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
