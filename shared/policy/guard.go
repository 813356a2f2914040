package policy

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"bashplugin/shared"
)

// Guard is a Bash that runs what its policy allows. It is safe for concurrent use.
//
// In a plugin, a question must be answered within 20 s of the request's timeout: a host takes a
// call that lasts longer for a crash.
type Guard struct {
	bash   shared.Bash
	policy Policy

	mu      sync.Mutex
	learned []Rule
}

var _ shared.Bash = (*Guard)(nil)

// New puts a policy in front of bash. A policy with a malformed rule, or a Confine whose paths are
// relative and so depend on the request, is shared.ErrInvalid.
func New(bash shared.Bash, p Policy) (*Guard, error) {
	err := p.validate()
	if err != nil {
		return nil, err
	}
	p.Rules = slices.Clone(p.Rules)
	return &Guard{bash: bash, policy: p}, nil
}

// Learned returns the rules that were learned from answers so far. In another session they allow
// as the Rules of its policy do: a rule that asks about the same command is stricter there.
func (g *Guard) Learned() []Rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.learned)
}

// Execute implements shared.Bash. A command that is not allowed is shared.ErrDenied, which names the
// part and the reason.
//
// The time of a question is not part of the request's Timeout. If ctx ends meanwhile, nothing is
// started, whatever the cause. A live copy of a command that runs again has the output of both runs.
func (g *Guard) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	own := req.Confine
	req.Confine = tighten(own, g.policy.Confine)
	record, err := g.decide(ctx, &req, own)
	if record.Decision != Allow {
		record.Decision = Deny
		record.Err = err
		if err == nil {
			record.Result = cancelled(req)
		}
		g.log(record)
		return record.Result, err
	}
	result, err := g.run(ctx, record)
	lifts := req.Confine.Confines() && g.policy.Ask != nil && req.Confine != own
	if err != nil || !lifts || stopped(result) == "" || ctx.Err() != nil {
		return result, err
	}
	answer, failed := g.policy.Ask(ctx, Question{Request: req, Parts: record.Parts, Attempt: result})
	if failed != nil || answer.Decision != Allow || ctx.Err() != nil {
		return result, nil //nolint:nilerr // the attempt is the outcome
	}
	record.Request.Confine = tighten(own, answer.Confine)
	record.Time = time.Now()
	record.By = "person"
	return g.run(ctx, record)
}

// decide decides about a request, and asks if need be. The error says why it is not allowed; nil: ctx
// has ended before there was an answer. An answer may replace the policy's confinement in the request.
func (g *Guard) decide(ctx context.Context, req *shared.ExecuteRequest, own *shared.Confine) (Record, error) {
	parts := append(Parts(req.Command), surroundings(*req)...)
	decision, matched := g.policy.decide(parts, g.Learned())
	record := Record{Time: time.Now(), Request: *req, Parts: matched, Decision: decision, By: "default"}
	first := slices.IndexFunc(matched, func(m Matched) bool { return m.Decision.rank() == decision.rank() })
	if first >= 0 && matched[first].Rule != nil {
		record.By = "rule"
	}
	switch {
	case decision == Allow:
		return record, nil
	case decision == Deny:
		return record, denied("a rule denies", matched[first], reason(matched[first].Rule))
	case g.policy.Ask == nil:
		return record, denied("a person would have to allow", matched[first], "; nobody can be asked here")
	case ctx.Err() != nil:
		return record, nil //nolint:nilerr // the caller makes a Result of it
	}
	answer, err := g.policy.Ask(ctx, Question{Request: *req, Parts: matched})
	if ctx.Err() != nil {
		return record, nil //nolint:nilerr // the caller makes a Result of it
	}
	record.Time = time.Now()
	record.By = "person"
	switch {
	case err != nil:
		return record, denied("nobody could be asked about", matched[first], ": "+err.Error())
	case answer.Decision != Allow:
		return record, denied("a person said no to", matched[first], strings.TrimSuffix(": "+answer.Reason, ": "))
	case answer.Always:
		g.learn(matched)
	}
	if answer.Confine != nil {
		req.Confine = tighten(own, answer.Confine)
		record.Request.Confine = req.Confine
	}
	record.Decision = Allow
	return record, nil
}

// surroundings returns parts for what besides the command changes what it does: variables that
// programs get, and a terminal, where whatever is typed later may run too.
func surroundings(req shared.ExecuteRequest) []Part {
	var parts []Part
	for _, entry := range req.Env {
		name, value, _ := strings.Cut(entry, "=")
		if !isMild(name, value) {
			parts = append(parts, Part{Unknown: quote(name+"=") + ": a variable that may change what programs do"})
		}
	}
	if req.Stdin == shared.StdinTTY {
		parts = append(parts, Part{Unknown: "a terminal: what is typed there later may run too"})
	}
	return parts
}

// denied names the part that a command was denied for.
func denied(who string, part Matched, why string) error {
	name := part.Unknown
	if name == "" {
		name = quote(part.String())
	}
	message := fmt.Sprintf("the command did not run: %s %s%s. Do it in another way, or do without it",
		who, name, strings.TrimSuffix(why, "."))
	return &shared.Error{Code: shared.CodeDenied, Message: message, Field: "Command"}
}

// cancelled is the Result of a command whose context ended during the question.
func cancelled(req shared.ExecuteRequest) *shared.Result {
	return &shared.Result{
		Command: req.Command, Dir: req.Dir, Started: time.Now(), ExitCode: -1,
		Status: shared.StatusKilled, Cause: shared.CauseCancel,
	}
}

// run runs an allowed command.
func (g *Guard) run(ctx context.Context, record Record) (*shared.Result, error) {
	g.log(record)
	record.Result, record.Err = g.bash.Execute(ctx, record.Request)
	g.log(record)
	return record.Result, record.Err
}

func (g *Guard) log(record Record) {
	if g.policy.Log != nil {
		g.policy.Log(record)
	}
}

// learn adds rules for the parts that were asked about.
func (g *Guard) learn(parts []Matched) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, part := range parts {
		rule, ok := exactly(part.Part)
		known := slices.ContainsFunc(g.learned, func(r Rule) bool { return r.Command == rule.Command })
		if ok && !known && part.Decision.rank() == Ask.rank() {
			g.learned = append(g.learned, rule)
		}
	}
}

// Check implements shared.Bash.
func (g *Guard) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	return g.bash.Check(ctx, req)
}

// Kill implements shared.Bash.
func (g *Guard) Kill(ctx context.Context, req shared.KillRequest) (*shared.Result, error) {
	return g.bash.Kill(ctx, req)
}

// Configure implements serve.Configurer. It passes the settings of a session on.
func (g *Guard) Configure(config shared.SessionConfig) error {
	return shared.Configure(g.bash, config)
}

// Unseen passes on that a Result was not delivered.
func (g *Guard) Unseen(result *shared.Result) {
	notice, ok := g.bash.(interface{ Unseen(*shared.Result) })
	if ok {
		notice.Unseen(result)
	}
}

// Close closes the Bash that the policy is in front of, if it is an io.Closer.
func (g *Guard) Close() error {
	closer, ok := g.bash.(io.Closer)
	if !ok {
		return nil
	}
	return closer.Close()
}

// tighten returns what both confinements allow. nil is none.
func tighten(a, b *shared.Confine) *shared.Confine {
	switch {
	case !b.Confines():
		return a
	case !a.Confines():
		return b
	}
	both := shared.Confine{
		ReadOnly:   a.ReadOnly || b.ReadOnly,
		Private:    a.Private || b.Private,
		NoNetwork:  a.NoNetwork || b.NoNetwork,
		BestEffort: a.BestEffort && b.BestEffort,
	}
	for _, place := range slices.Concat(a.Writable, b.Writable) {
		if writes(a, place) && writes(b, place) && reads(a, place) && reads(b, place) {
			both.Writable = append(both.Writable, place)
		}
	}
	for _, place := range slices.Concat(a.Readable, b.Readable, a.Writable, b.Writable) {
		if both.Private && reads(a, place) && reads(b, place) {
			both.Readable = append(both.Readable, place)
		}
	}
	return &both
}

// writes reports whether a confinement names a place as writable, or allows to write anywhere.
func writes(c *shared.Confine, place string) bool {
	return !c.ReadOnly || slices.Contains(c.Writable, place)
}

// reads is writes for reading.
func reads(c *shared.Confine, place string) bool {
	return !c.Private || slices.Contains(c.Readable, place) || slices.Contains(c.Writable, place)
}

// absolute reports a path of the policy's confinement that is relative.
func absolute(c *shared.Confine) error {
	for _, place := range slices.Concat(c.Writable, c.Readable) {
		if !path.IsAbs(place) {
			return invalid("Confine names %q, which depends on where a request runs: use an absolute path", place)
		}
	}
	return nil
}
