package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bashplugin/shared"
)

// Question asks a person whether a command may run.
type Question struct {
	// Request is the command with where it would run and, in Confine, what it could touch; nil: all
	// that its session may touch.
	Request shared.ExecuteRequest

	Parts []Matched // with what each one met

	// Attempt is the outcome of the command as it ran confined, and was stopped by that. The question
	// is whether it may run again without the policy's confinement; nil: it has not run.
	Attempt *shared.Result
}

// Answer is what a person says to a Question.
type Answer struct {
	Decision Decision // Allow; anything else is a no

	// Always makes the policy allow each part that was asked about from now on, with the same words
	// and no others, in whatever directory and in spite of rules that ask. It has no effect on unknown
	// parts, and none on a command that has run already.
	Always bool

	// Confine replaces the policy's. nil: the policy's stays, but a command that runs again may
	// touch whatever its session may.
	Confine *shared.Confine

	Reason string // of a no, for the model
}

// Record is a decision about a command, and its outcome once it has ended.
type Record struct {
	Time     time.Time // of the decision
	Request  shared.ExecuteRequest
	Parts    []Matched
	Decision Decision // Allow or Deny
	By       string   // who decided: "rule", "default" or "person"

	// Result and Err are the outcome. Before the command starts both are nil.
	Result *shared.Result
	Err    error
}

// String returns the question as text for a terminal: the command, what about it is open, where it
// would run, and what it could touch.
func (q Question) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", q.Request.Command)
	for _, part := range q.Parts {
		if part.Decision != Allow && q.Attempt == nil {
			fmt.Fprintf(&b, "  %s%s\n", part, reason(part.Rule))
		}
	}
	if q.Request.Dir != "" {
		fmt.Fprintf(&b, "in %s\n", q.Request.Dir)
	}
	fmt.Fprintf(&b, "%s\n", touches(q.Request.Confine))
	if q.Attempt != nil {
		fmt.Fprintf(&b, "It was stopped by its confinement: %s. Run it again without that?\n", stopped(q.Attempt))
	}
	return b.String()
}

func reason(rule *Rule) string {
	if rule == nil || rule.Reason == "" {
		return ""
	}
	return ": " + rule.Reason
}

// touches says what a confinement leaves.
func touches(c *shared.Confine) string {
	if !c.Confines() {
		return "it is not confined by the policy"
	}
	var all []string
	if c.ReadOnly {
		all = append(all, fmt.Sprintf("it may write below %q", c.Writable))
	}
	if c.Private {
		all = append(all, fmt.Sprintf("it may read below %q and the system's folders", c.Readable))
	}
	if c.NoNetwork {
		all = append(all, "network: none")
	}
	return strings.Join(all, "; ")
}

// refusals are what programs say when a confinement stops them.
var refusals = []string{
	"permission denied", "operation not permitted", "read-only file system", "eacces", "eperm", "erofs",
	"network is unreachable", "could not resolve host", "temporary failure in name resolution", "eai_again",
}

// stopped returns the line of a confined command's output that says that the confinement stopped
// it; "": none does, or it succeeded, still runs, or was killed.
func stopped(r *shared.Result) string {
	if r.Confined == "" || r.Status != shared.StatusFailed || len(r.Leftover) > 0 {
		return ""
	}
	for _, output := range []shared.Output{r.Stderr, r.Stdout} {
		for line := range strings.Lines(output.Head + "\n" + output.Content) {
			lower := strings.ToLower(line)
			if slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(lower, words) }) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}
