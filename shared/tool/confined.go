package tool

import (
	"regexp"
	"slices"
	"strings"

	"bashplugin/shared"
)

// refusals are texts, in lower case, that programs print when the system refuses something:
// access to a file, moving a file between directories, or the network.
var refusals = []string{
	"permission denied",
	"operation not permitted",
	"read-only file system",
	"cross-device link",
	"resolve host",
	"name resolution",
	"could not resolve",
	"network is unreachable",
	"eai_again",
	"enetunreach",
}

// unsignalled matches what kill prints when it may not signal a process.
var unsignalled = regexp.MustCompile(`(?m)\bkill: .*operation not permitted`)

// confinement says what every command may touch; "" if they may touch everything.
func (t *Toolset) confinement() string {
	if t.opts.Confined == "" {
		return ""
	}
	return " Each command is confined: " + t.opts.Confined + "."
}

// confined adds a line to an answer if what the command left running exceeded a limit, and if
// its output looks as if its confinement has refused something.
func (t *Toolset) confined(a Answer) Answer {
	r := a.Result
	if r != nil && r.Exceeded != "" && r.Status != shared.StatusKilled {
		a.Text = endLine(a.Text) + "[What it left running was killed: " + r.Exceeded + ".]"
	}
	if r == nil || r.Confined == "" {
		return a
	}
	parts := []string{r.Stdout.Head, r.Stdout.Content, r.Stderr.Head, r.Stderr.Content}
	output := strings.ToLower(strings.Join(parts, "\n"))
	isShown := func(refusal string) bool { return strings.Contains(output, refusal) }
	if !slices.ContainsFunc(refusals, isShown) {
		return a
	}
	hint := ""
	killer := slices.IndexFunc(t.tools, func(tool tool) bool { return tool.Hints == endHints })
	if killer >= 0 && unsignalled.MatchString(output) {
		hint = " " + t.tools[killer].Name + " ends what other calls have started."
	}
	a.Text = endLine(a.Text) + "[This command ran confined: " + r.Confined + "." + hint + "]"
	return a
}
