// Package policy decides which commands are run, asked about, or refused; it is no wall, since a
// rule sees the text of a command and not what the command does: a shared.Confine is the wall.
//
// New puts a Policy in front of any shared.Bash, in a host or in a plugin:
//
//	guard, err := policy.New(client, policy.Policy{
//		Rules: append(policy.Reading,
//			policy.Rule{Command: "go test *", Decision: policy.Allow},
//			policy.Rule{Command: "git push *", Decision: policy.Deny, Reason: "a person pushes"},
//		),
//		Confine: &shared.Confine{ReadOnly: true, Writable: []string{"/work"}},
//		Ask:     ask,
//	})
//
// # How a command is decided
//
// Parts takes a command apart into every simple command that it would run and every file that a
// redirection of it would write. Each part gets the strictest decision of the rules that match it,
// or the Default if there is none, and the command gets the strictest decision of its parts.
//
// A part that cannot be read for certain is unknown: a word that is not literal, as of $x or *.go,
// a file or a program named by a variable, eval, a variable that changes what programs do, a syntax
// error. No rule allows an unknown part, and no Default does.
//
// # What a rule does not see
//
// A rule sees words. It does not see what a program does on its own: what make, npm or a script
// runs, what a repository's own configuration makes git run, and which files an argument names
// through links and after cd. A rule that allows "make *" allows whatever the Makefile says, and
// "python3 *" allows everything. Reading has no such programs.
//
// # Questions
//
// Policy.Ask gets what the rules leave open. A yes may count always: Guard.Learned returns the
// rules that were learned in that way. A command that failed because its confinement stopped it
// is asked about once more, with its Result, and runs again only after a yes.
package policy
