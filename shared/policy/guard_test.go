//go:build unix

package policy_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/policy"
)

// person answers questions and remembers them, and keeps the log of the decisions.
type person struct {
	mu        sync.Mutex
	answer    policy.Answer
	err       error
	questions []policy.Question
	records   []policy.Record
}

func (p *person) Ask(_ context.Context, q policy.Question) (policy.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions = append(p.questions, q)
	return p.answer, p.err
}

func (p *person) Log(r policy.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, r)
}

// asked returns how many questions there were since the last call.
func (p *person) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.questions = nil }()
	return len(p.questions)
}

// guard puts a policy in front of the real plugin.
func guard(t *testing.T, who *person, p policy.Policy) *policy.Guard {
	t.Helper()
	if who != nil {
		p.Ask = who.Ask
		p.Log = who.Log
	}
	guard, err := policy.New(plugintest.Launch(t), p)
	require.NoError(t, err)
	return guard
}

func run(t *testing.T, bash shared.Bash, command string) error {
	t.Helper()
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: command})
	return err
}

func TestWhatIsDeniedDoesNotRun(t *testing.T) {
	t.Parallel()
	hit := filepath.Join(t.TempDir(), "hit")
	rules := []policy.Rule{{Command: "touch *", Decision: policy.Deny, Reason: "make no files"}, {Command: "ls *", Decision: policy.Allow}}
	bash := guard(t, nil, policy.Policy{Rules: rules})
	require.NoError(t, run(t, bash, "ls / | ls"))
	for command, message := range map[string]string{
		"ls; touch " + hit:             "a rule denies `touch " + hit + "`: make no files",
		"x=" + hit + "; touch $x":      "a rule denies `touch`: `$x` can be anything: make no files",
		"timeout 5 sudo touch " + hit:  "a rule denies `touch " + hit + "`: make no files",
		"cp /dev/null " + hit:          "a person would have to allow `cp /dev/null " + hit + "`; nobody can be asked here",
		"ls > " + hit:                  "a person would have to allow `> " + hit + "`; nobody can be asked here",
		"echo " + hit + " | xargs ls ": "a person would have to allow `echo " + hit + "`; nobody can be asked here",
	} {
		denied := plugintest.RequireCode(t, run(t, bash, command), shared.ErrDenied)
		assert.Equal(t, "the command did not run: "+message+". Do it in another way, or do without it", denied.Message)
		assert.Equal(t, "Command", denied.Field)
	}
	assert.NoFileExists(t, hit)
	pid := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "ls", Mode: shared.ModeBackground}).PID
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid})
	require.NoError(t, err)
	_, err = bash.Kill(t.Context(), shared.KillRequest{PID: pid})
	require.NoError(t, err)
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	who := new(person)
	rules := []policy.Rule{
		{Command: "touch *", Decision: policy.Ask, Reason: "it makes files"},
		{Command: "rm *", Decision: policy.Deny},
		{Command: "ls *", Decision: policy.Allow},
	}
	bash := guard(t, who, policy.Policy{Rules: rules})
	dir := t.TempDir()
	hit := filepath.Join(dir, "a hit")
	touch := "ls; touch '" + hit + "'"

	who.answer = policy.Answer{Reason: "use another folder."}
	denied := plugintest.RequireCode(t, run(t, bash, touch), shared.ErrDenied)
	assert.Contains(t, denied.Message, "a person said no to `touch "+hit+"`: use another folder. Do it")
	assert.NoFileExists(t, hit)
	require.Len(t, who.questions, 1)
	q := who.questions[0]
	assert.Equal(t, touch, q.Request.Command)
	require.Len(t, q.Parts, 2)
	assert.Equal(t, policy.Allow, q.Parts[0].Decision)
	assert.Equal(t, []string{"touch", hit}, q.Parts[1].Words)
	assert.Equal(t, "it makes files", q.Parts[1].Rule.Reason)
	assert.Equal(t, touch+"\n  touch "+hit+": it makes files\nit is not confined by the policy\n", q.String())
	assert.Equal(t, 1, who.asked())

	who.err = errors.New("the terminal is gone")
	assert.ErrorContains(t, run(t, bash, touch), "nobody could be asked about `touch "+hit+"`: the terminal is gone")
	assert.Equal(t, 1, who.asked())
	who.err = nil

	who.answer = policy.Answer{Decision: policy.Allow}
	for range 2 { // once is once
		require.NoError(t, run(t, bash, touch))
		assert.FileExists(t, hit)
		assert.Equal(t, 1, who.asked())
	}
	assert.Empty(t, bash.Learned())
}

// Always is for the words that were shown, in spite of a rule that asks and not of one that denies.
func TestLearnedRules(t *testing.T) {
	t.Parallel()
	who := &person{answer: policy.Answer{Decision: policy.Allow, Always: true}}
	rules := []policy.Rule{{Command: "touch *", Decision: policy.Ask}, {Command: "touch -d *", Decision: policy.Deny}}
	bash := guard(t, who, policy.Policy{Rules: rules})
	name := filepath.Join(t.TempDir(), `a * [b]\c`)
	require.NoError(t, run(t, bash, "touch '"+name+"'"))
	assert.Equal(t, 1, who.asked())
	for _, same := range []string{"touch '" + name + "'", `\touch "` + name + `"`, "timeout 5 touch '" + name + "'"} {
		require.NoError(t, run(t, bash, same))
		assert.Zero(t, who.asked(), same)
	}
	for _, other := range []string{"touch -c '" + name + "'", "touch '" + name + "' b", "touch", "touch '" + filepath.Dir(name) + "/a b [b]c'"} {
		_ = run(t, bash, "cd "+t.TempDir()+"; "+other)
		assert.Equal(t, 1, who.asked(), other)
	}
	learned := bash.Learned()
	kept := guard(t, nil, policy.Policy{Rules: learned})
	require.NoError(t, run(t, kept, "touch '"+name+"'"), "%v", learned)
	require.ErrorIs(t, run(t, kept, "touch '"+name+"' -d now"), shared.ErrDenied)
	require.ErrorIs(t, run(t, bash, "touch -d now '"+name+"'"), shared.ErrDenied)
	for range 2 { // what cannot be told cannot be learned
		require.NoError(t, run(t, bash, "echo $HOME"))
		assert.Equal(t, 1, who.asked())
	}
}

func TestWhatSurroundsACommandIsAskedAbout(t *testing.T) {
	t.Parallel()
	who := &person{answer: policy.Answer{Decision: policy.Allow}}
	bash := guard(t, who, policy.Policy{Rules: policy.Reading})
	for _, req := range []shared.ExecuteRequest{
		{Env: []string{"LD_PRELOAD=/tmp/x.so"}},
		{Env: []string{"GIT_EXTERNAL_DIFF=touch hit"}},
		{Env: []string{"BASH_FUNC_ls%%=() { true; }"}},
		{Stdin: shared.StdinTTY},
	} {
		req.Command = "ls /"
		plugintest.Execute(t, bash, req)
		assert.Equal(t, 1, who.asked(), "%v", req)
	}
	plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "ls /", Env: []string{"LC_ALL=C", "NO_COLOR=1"}})
	assert.Zero(t, who.asked())
}

// A context that ends during a question leaves nothing started, whatever its cause.
func TestTheEndOfTheContextDuringAQuestion(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{nil, shared.ErrLetRun, shared.ErrDetach} {
		who := new(person)
		ctx, cancel := context.WithCancelCause(t.Context())
		ask := func(context.Context, policy.Question) (policy.Answer, error) {
			cancel(cause)
			return policy.Answer{Decision: policy.Allow, Always: true}, nil
		}
		bash, err := policy.New(plugintest.Launch(t), policy.Policy{Ask: ask, Log: who.Log})
		require.NoError(t, err)
		hit := filepath.Join(t.TempDir(), "hit")
		result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "touch " + hit})
		require.NoError(t, err)
		assert.Equal(t, []any{0, shared.StatusKilled, shared.CauseCancel, -1}, []any{result.PID, result.Status, result.Cause, result.ExitCode})
		assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
		assert.NoFileExists(t, hit)
		assert.Empty(t, bash.Learned())
		require.Len(t, who.records, 1)
		assert.Equal(t, policy.Deny, who.records[0].Decision)
	}
}

func TestEachDecisionIsLogged(t *testing.T) {
	t.Parallel()
	who := &person{answer: policy.Answer{Decision: policy.Allow}}
	bash := guard(t, who, policy.Policy{Rules: []policy.Rule{
		{Command: "true", Decision: policy.Allow}, {Command: "rm *", Decision: policy.Deny},
	}})
	require.NoError(t, run(t, bash, "true"))
	require.NoError(t, run(t, bash, "exit 3"))
	require.Error(t, run(t, bash, "rm x"))
	who.answer.Decision = policy.Deny
	require.Error(t, run(t, bash, "ls"))
	type line struct {
		command  string
		decision policy.Decision
		by       string
		result   bool
		err      bool
	}
	var lines []line
	for _, r := range who.records {
		assert.False(t, r.Time.IsZero())
		assert.Len(t, r.Parts, 1)
		lines = append(lines, line{r.Request.Command, r.Decision, r.By, r.Result != nil, r.Err != nil})
	}
	assert.Equal(t, []line{
		{"true", policy.Allow, "rule", false, false},
		{"true", policy.Allow, "rule", true, false},
		{"exit 3", policy.Allow, "person", false, false},
		{"exit 3", policy.Allow, "person", true, false},
		{"rm x", policy.Deny, "rule", false, true},
		{"ls", policy.Deny, "person", false, true},
	}, lines)
	assert.Equal(t, 3, who.records[3].Result.ExitCode)
}

// Many commands at a time share one policy.
func TestAGuardIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	who := &person{answer: policy.Answer{Decision: policy.Allow, Always: true}}
	bash := guard(t, who, policy.Policy{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			assert.NoError(t, run(t, bash, "echo 'a b'"))
			bash.Learned()
		})
	}
	all.Wait()
	assert.Len(t, bash.Learned(), 1)
}

func TestPoliciesThatMeanNothing(t *testing.T) {
	t.Parallel()
	for _, p := range []policy.Policy{
		{Rules: []policy.Rule{{Command: " ", Decision: policy.Allow}}},
		{Rules: []policy.Rule{{Command: "ls [", Decision: policy.Allow}}},
		{Rules: []policy.Rule{{Command: "ls"}}},
		{Rules: []policy.Rule{{Command: "ls", Decision: "yes"}}},
		{Default: "perhaps"},
		{Confine: &shared.Confine{ReadOnly: true, Writable: []string{"."}}},
		{Confine: &shared.Confine{Writable: []string{"/"}}},
	} {
		_, err := policy.New(sh{}, p)
		plugintest.RequireCode(t, err, shared.ErrInvalid)
	}
}
