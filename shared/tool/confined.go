package tool

import (
	"slices"
	"strings"

	"bashplugin/shared"
)

// refusals are texts, in lower case, that programs print when the system refuses
// something: a file, to move a file between directories, a name's address.
var refusals = []string{"permission denied", "operation not permitted", "read-only file system", "cross-device link", "resolve host", "name resolution"}

// confined adds a line to an answer about a command that failed because of its
// confinement, as far as its output tells.
func confined(a Answer) Answer {
	r := a.Result
	if r != nil && r.Exceeded != "" && r.Status != shared.StatusKilled {
		a.Text = endLine(a.Text) + "[What it left running was killed: " + r.Exceeded + ".]"
	}
	if r == nil || r.Confined == "" || r.Status != shared.StatusFailed {
		return a
	}
	output := strings.ToLower(strings.Join([]string{r.Stdout.Head, r.Stdout.Content, r.Stderr.Head, r.Stderr.Content}, "\n"))
	if slices.ContainsFunc(refusals, func(text string) bool { return strings.Contains(output, text) }) {
		a.Text = endLine(a.Text) + "[This command ran confined: " + r.Confined + ".]"
	}
	return a
}
