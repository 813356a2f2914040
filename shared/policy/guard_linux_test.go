package policy_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/policy"
)

// A command that its confinement stopped runs again without it after a yes, and in no other case.
func TestEscalation(t *testing.T) {
	t.Parallel()
	plugintest.NeedsConfine(t)
	who := new(person)
	inside := t.TempDir()
	outside := t.TempDir()
	confine := &shared.Confine{ReadOnly: true, Writable: []string{inside}, NoNetwork: true}
	bash := guard(t, who, policy.Policy{Default: policy.Allow, Confine: confine})
	count := filepath.Join(inside, "count")
	hit := filepath.Join(outside, "hit")
	command := "echo run >> " + count + "; echo done > " + hit

	r := plugintest.Run(t, bash, command) // a no
	assert.Equal(t, shared.StatusFailed, r.Status)
	assert.Contains(t, r.Stderr.Content, "Permission denied")
	require.Len(t, who.questions, 1)
	q := who.questions[0]
	assert.Equal(t, r, q.Attempt)
	assert.Equal(t, confine, q.Request.Confine)
	assert.Contains(t, q.String(), `it may write below ["`+inside+`"]; network: none`)
	assert.Contains(t, q.String(), hit+": Permission denied. Run it again without that?")
	assert.Equal(t, 1, who.asked())
	assert.Equal(t, "run\n", plugintest.ReadFile(t, count))
	assert.NoFileExists(t, hit)

	// A yes with another confinement, and a yes without any.
	who.answer = policy.Answer{Decision: policy.Allow, Confine: &shared.Confine{ReadOnly: true, Writable: []string{inside, outside}}}
	r = plugintest.Run(t, bash, command)
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.Contains(t, r.Confined, outside)
	assert.Equal(t, "done\n", plugintest.ReadFile(t, hit))
	assert.Equal(t, "run\nrun\nrun\n", plugintest.ReadFile(t, count))
	assert.Equal(t, 1, who.asked())
	who.answer = policy.Answer{Decision: policy.Allow, Always: true}
	r = plugintest.Run(t, bash, "exec 3<>/dev/tcp/127.0.0.1/1")
	assert.Contains(t, r.Stderr.Content, "Connection refused")
	assert.Equal(t, "", r.Confined)
	assert.Equal(t, 2, who.asked(), "about what it opens, which cannot be told, and about the confinement")
	assert.Empty(t, bash.Learned())
	last := who.records[len(who.records)-1]
	assert.Equal(t, "person", last.By)
	assert.Equal(t, r, last.Result)

	// The request's own confinement stays, and what was not stopped is not asked about.
	own := &shared.Confine{ReadOnly: true, Writable: []string{inside}}
	r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo x > " + hit + "2", Confine: own})
	assert.Equal(t, shared.StatusFailed, r.Status)
	assert.NoFileExists(t, hit+"2")
	assert.Equal(t, 1, who.asked())
	for _, quiet := range []string{"echo Permission denied; true", "exit 3", "sleep 1000 & echo Permission denied; exit 1"} {
		plugintest.Run(t, bash, quiet)
		assert.Zero(t, who.asked(), quiet)
	}
	plugintest.Kill(t, bash, shared.AllJobs)
	unconfined := guard(t, who, policy.Policy{Default: policy.Allow})
	plugintest.Run(t, unconfined, "echo Permission denied >&2; exit 1")
	assert.Zero(t, who.asked())
}
