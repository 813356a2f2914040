package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"bashplugin/shared"
	"bashplugin/shared/policy"
)

// policyFlags are the flags about what may run.
type policyFlags struct {
	rules    []policy.Rule
	fallback policy.Decision // of what no rule matches
	audit    string
	set      bool // some flag has made a policy
}

func (f *policyFlags) add(set *flag.FlagSet) {
	const more = "; may be given several times. With any rule, what only reads is allowed, " +
		"and what no rule is about is asked about"
	set.Func("allow", "`PREFIX` of commands that run, as in \"go test\""+more, f.prefix(policy.Allow))
	set.Func("ask", "`PREFIX` of commands to ask about, at the prompt of repl or by the client of mcp"+more,
		f.prefix(policy.Ask))
	set.Func("deny", "`PREFIX` of commands that do not run"+more, f.prefix(policy.Deny))
	set.Func("rules", "`file` with "+`{"rules": [{"command": "git diff *", "decision": "allow", "reason": "why"}]}, `+
		`or with the permissions of Claude Code's settings`, f.read)
	set.StringVar(&f.audit, "audit", "",
		"`file` to append a line of JSON to for each decision and each end of a command")
}

// prefix returns a function that adds a rule for the commands that begin with a flag's value.
func (f *policyFlags) prefix(decision policy.Decision) func(string) error {
	return func(words string) error {
		if strings.TrimSpace(words) == "" {
			return errors.New("give the words that the commands begin with, or * for every command")
		}
		f.set = true
		if words != "*" {
			words = strings.TrimSuffix(words, " *") + " *"
		}
		f.rules = append(f.rules, policy.Rule{Command: words, Decision: decision})
		return nil
	}
}

// ruleFile is what a file of -rules may have: rules of ours, and Claude Code's permissions.
type ruleFile struct {
	Rules       []policy.Rule   `json:"rules"`
	Default     policy.Decision `json:"default"`
	Permissions struct {
		Allow []string `json:"allow"`
		Ask   []string `json:"ask"`
		Deny  []string `json:"deny"`
	} `json:"permissions"`
}

func (f *policyFlags) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var file ruleFile
	err = json.Unmarshal(text, &file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.set = true
	f.fallback = file.Default
	f.rules = append(f.rules, file.Rules...)
	f.permit(file.Permissions.Allow, policy.Allow)
	f.permit(file.Permissions.Ask, policy.Ask)
	f.permit(file.Permissions.Deny, policy.Deny)
	return nil
}

// permit adds the permissions that are about Bash.
func (f *policyFlags) permit(permissions []string, decision policy.Decision) {
	for _, permission := range permissions {
		command, ok := commandOf(permission)
		if ok {
			f.rules = append(f.rules, policy.Rule{Command: command, Decision: decision, Reason: permission})
		}
	}
}

// commandOf returns the Command of a rule for a permission of Claude Code, as of Bash(git diff:*). It
// returns false if that is about another tool.
func commandOf(permission string) (string, bool) {
	if permission == "Bash" {
		return "*", true
	}
	inner, isBash := strings.CutPrefix(permission, "Bash(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !isBash || !closed || inner == "" {
		return "", false
	}
	prefix, isPrefix := strings.CutSuffix(inner, ":*")
	if isPrefix {
		return prefix + " *", true
	}
	return inner, true
}

// ask asks a person.
type ask func(context.Context, policy.Question) (policy.Answer, error)

// guard puts the policy of the flags in front of a Bash, if there is one. end closes the audit.
func (f *launchFlags) guard(bash shared.Bash, who ask) (guarded shared.Bash, end func(), err error) {
	end = func() {}
	p := policy.Policy{Rules: slices.Concat(policy.Reading, f.policy.rules), Default: f.policy.fallback, Ask: who}
	if f.policy.audit != "" {
		log, failed := openAudit(f.policy.audit)
		if failed != nil {
			return nil, end, misused("-audit: %v", failed)
		}
		p.Log = log.write
		end = log.close
	}
	switch {
	case f.policy.set:
		// The commands get the variables of -env behind the policy, which would ask about them.
		bash = withEnv{bash, f.env}
		f.env = nil
		guarded, err = policy.New(bash, p)
	case p.Log != nil:
		guarded = logged{bash, p.Log}
	default:
		guarded = bash
	}
	return guarded, end, err
}

// withEnv is a Bash whose commands have more variables.
type withEnv struct {
	shared.Bash
	env []string
}

func (b withEnv) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	req.Env = slices.Concat(req.Env, b.env)
	return b.Bash.Execute(ctx, req)
}
