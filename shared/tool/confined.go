package tool

import (
	"slices"
	"strings"

	"bashplugin/shared"
)

// refusals are texts, in lower case, that programs print when the system refuses something:
// access to a file, moving a file between directories, or the address of a name.
var refusals = []string{
	"permission denied",
	"operation not permitted",
	"read-only file system",
	"cross-device link",
	"resolve host",
	"name resolution",
}

// confined adds a line to an answer if what the command left running exceeded a limit, and if
// the command seems to have failed because of its confinement.
func confined(a Answer) Answer {
	r := a.Result
	if r != nil && r.Exceeded != "" && r.Status != shared.StatusKilled {
		a.Text = endLine(a.Text) + "[What it left running was killed: " + r.Exceeded + ".]"
	}
	if r == nil || r.Confined == "" || r.Status != shared.StatusFailed {
		return a
	}
	parts := []string{r.Stdout.Head, r.Stdout.Content, r.Stderr.Head, r.Stderr.Content}
	output := strings.ToLower(strings.Join(parts, "\n"))
	isShown := func(refusal string) bool { return strings.Contains(output, refusal) }
	if slices.ContainsFunc(refusals, isShown) {
		a.Text = endLine(a.Text) + "[This command ran confined: " + r.Confined + ".]"
	}
	return a
}
