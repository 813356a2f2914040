package policy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"bashplugin/shared"
)

// Decision is what happens to a command.
type Decision string

// The decisions, from the mildest to the strictest.
const (
	Allow Decision = "allow" // it runs
	Ask   Decision = "ask"   // Policy.Ask is asked
	Deny  Decision = "deny"  // it does not run
)

// rank orders decisions by their strictness. Ask is also what the zero value means.
func (d Decision) rank() int {
	switch d {
	case Allow:
		return 0
	case Deny:
		return 2
	}
	return 1
}

// Rule decides about the parts of commands that its Command matches.
//
// Command has words, separated by blanks, as in "git diff *". Each matches one word as path.Match
// does, so that * and ? match no slash, but a last word "*" matches any number of words, none too. A
// backslash takes the meaning from the character after it, also from a blank.
//
// The first word is the name of a program: "git" is also /usr/bin/git, or git in another folder
// of the system, and never ./git. The rule "> build/*" is about the files that redirections write.
//
// An Allow matches only what is known. The others also match a part that is unknown from some word
// on, if they match the words before: "git push *" denies git push $x.
type Rule struct {
	Command  string
	Decision Decision
	Reason   string // for people and models

	// only, if not nil, reports whether the rule matches these words, which Command matches.
	only func(words []string) bool
}

// Policy says what may run. The zero value asks about every command, and so denies it, as nobody
// is there to be asked.
type Policy struct {
	Rules []Rule

	// Default is for a part that no rule matches; "": Ask. An unknown part is asked about even if
	// this is Allow.
	Default Decision

	// Confine holds for every command, in addition to its request's, unless an Answer says otherwise.
	// Where both name paths, those remain that both name in the same way.
	Confine *shared.Confine

	// Ask asks a person. It may be called by several commands at a time. If it returns an error, the
	// command is denied. nil: a command that would be asked about is denied.
	Ask func(context.Context, Question) (Answer, error)

	// Log, if not nil, gets each decision before the command starts, and again with the outcome.
	// It may be called by several commands at a time.
	Log func(Record)
}

// Matched is a part of a command and what was decided about it.
type Matched struct {
	Part
	Decision Decision
	Rule     *Rule // nil: the default
}

// Decide returns what happens to a command, and why: the parts with what each one met. A command
// that runs nothing, such as a comment, is allowed.
func (p Policy) Decide(command string) (Decision, []Matched) {
	return p.decide(Parts(command), nil)
}

// decide is Decide for parts. The learned rules allow what a rule or the default would ask about.
func (p Policy) decide(parts []Part, learned []Rule) (Decision, []Matched) {
	patterns := split(p.Rules)
	known := split(learned)
	strictest := Allow
	var all []Matched
	for _, part := range parts {
		met := Matched{Part: part, Decision: p.fallback(part)}
		rule := match(p.Rules, patterns, part)
		if rule != nil {
			met.Rule = rule
			met.Decision = rule.Decision
		}
		if rule == nil && part.wraps {
			continue // what it runs is decided instead
		}
		if met.Decision.rank() == Ask.rank() {
			rule = match(learned, known, part)
			if rule != nil {
				met.Rule = rule
				met.Decision = Allow
			}
		}
		if met.Decision.rank() > strictest.rank() {
			strictest = met.Decision
		}
		all = append(all, met)
	}
	return strictest, all
}

// fallback is the decision about a part that no rule matches.
func (p Policy) fallback(part Part) Decision {
	switch {
	case p.Default == Deny:
		return Deny
	case p.Default == Allow && part.Unknown == "":
		return Allow
	}
	return Ask
}

// match returns the strictest rule that matches a part, nil if none does.
func match(rules []Rule, patterns [][]string, part Part) *Rule {
	var strictest *Rule
	for i := range rules {
		rule := &rules[i]
		if strictest != nil && rule.Decision.rank() <= strictest.Decision.rank() {
			continue
		}
		if rule.matches(patterns[i], part) {
			strictest = rule
		}
	}
	return strictest
}

// matches reports whether the rule, whose Command has the words of pattern, is about a part.
func (r *Rule) matches(pattern []string, part Part) bool {
	words := part.Words
	if part.Unknown != "" {
		if r.Decision == Allow {
			return false
		}
		words = part.begins
	}
	last := len(pattern) - 1
	if last >= 0 && pattern[last] == "*" {
		pattern = pattern[:last]
		words = words[:min(last, len(words))]
	}
	same := slices.EqualFunc(pattern, words, func(pattern, word string) bool {
		ok, err := path.Match(pattern, word)
		return ok && err == nil
	})
	return same && (r.only == nil || r.only(part.Words))
}

// split returns the words of the rules' commands.
func split(rules []Rule) [][]string {
	patterns := make([][]string, len(rules))
	for i, rule := range rules {
		patterns[i] = rule.words()
	}
	return patterns
}

// words splits the Command at blanks that no backslash precedes.
func (r *Rule) words() []string {
	var words []string
	var word strings.Builder
	escaped := false
	for _, c := range r.Command + " " {
		if escaped || !strings.ContainsRune(" \t\n", c) {
			word.WriteRune(c)
			escaped = c == '\\' && !escaped
			continue
		}
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	return words
}

// special are the characters that a backslash makes ordinary in a Rule's Command.
var special = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `, "\t", "\\\t", "\n", "\\\n",
)

// exactly returns a rule that allows a part as it is and nothing else. It returns false if no rule can.
func exactly(part Part) (Rule, bool) {
	if part.Unknown != "" || slices.Contains(part.Words, "") {
		return Rule{}, false
	}
	words := make([]string, len(part.Words))
	for i, word := range part.Words {
		words[i] = special.Replace(word)
	}
	return Rule{Command: strings.Join(words, " "), Decision: Allow, Reason: "a person has allowed it"}, true
}

// validate reports a rule or a default that means nothing.
func (p Policy) validate() error {
	for _, rule := range p.Rules {
		words := rule.words()
		if len(words) == 0 {
			return invalid("a rule has no Command: give it words, or * for every command")
		}
		for _, word := range words {
			_, err := path.Match(word, "")
			if err != nil {
				return invalid("the rule %q has the malformed pattern %q", rule.Command, word)
			}
		}
		if rule.Decision != Allow && rule.Decision != Ask && rule.Decision != Deny {
			return invalid("the rule %q decides %q: use allow, ask or deny", rule.Command, rule.Decision)
		}
	}
	if p.Default != "" && p.Default != Allow && p.Default != Ask && p.Default != Deny {
		return invalid("Default is %q: use allow, ask or deny, or leave it out", p.Default)
	}
	if p.Confine == nil {
		return nil
	}
	err := absolute(p.Confine)
	if err != nil {
		return err
	}
	return p.Confine.Validate()
}

func invalid(format string, args ...any) error {
	return &shared.Error{Code: shared.CodeInvalid, Message: fmt.Sprintf(format, args...), Field: "Policy"}
}
