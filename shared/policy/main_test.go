//go:build unix

package policy_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/policy"
	"bashplugin/shared/serve"
)

// guardedPluginEnv makes this program a plugin that has a policy of its own.
const guardedPluginEnv = "TEST_GUARDED_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(guardedPluginEnv) != "" {
		serveGuarded()
		return
	}
	os.Exit(plugintest.Main(m.Run))
}

// sh runs each command to its end, and has no jobs.
type sh struct{}

func (sh) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	out, err := exec.CommandContext(ctx, "bash", "-c", req.Command).Output()
	return &shared.Result{PID: 1, Status: shared.StatusCompleted, Stdout: shared.Output{Content: string(out)}}, err
}

func (sh) Check(context.Context, shared.CheckRequest) (*shared.Result, error) {
	return nil, shared.ErrNotFound
}

func (sh) Kill(context.Context, shared.KillRequest) (*shared.Result, error) {
	return new(shared.Result), nil
}

func serveGuarded() {
	deny := policy.Rule{Command: "git push *", Decision: policy.Deny, Reason: "a person pushes."}
	guard, err := policy.New(sh{}, policy.Policy{Rules: append(policy.Reading, deny)})
	if err != nil {
		panic(err)
	}
	serve.Serve(&shared.Plugin{Impl: guard, Disconnected: func() { os.Exit(0) }})
}

// A policy in a plugin denies with the same error as one in the host, and passes settings on.
func TestAPolicyInAPlugin(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	cfg := host.LaunchConfig{Path: program, Env: []string{guardedPluginEnv + "=yes", "TMPDIR=" + plugintest.ShortDir(t)}}
	bash, err := host.Launch(t.Context(), cfg)
	require.NoError(t, err)
	defer bash.Close()
	assert.Equal(t, "hi\n", plugintest.Run(t, bash, "echo hi").Stdout.Content)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "ls; git push --force"})
	denied := plugintest.RequireCode(t, err, shared.ErrDenied)
	assert.Equal(t, "the command did not run: a rule denies `git push --force`: a person pushes. "+
		"Do it in another way, or do without it", denied.Message)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "rm $x"})
	denied = plugintest.RequireCode(t, err, shared.ErrDenied)
	assert.Contains(t, denied.Message, "`$x` can be anything")

	cfg.Dir = "/"
	_, err = host.Launch(t.Context(), cfg)
	assert.Equal(t, "Dir", plugintest.RequireCode(t, err, shared.ErrStart).Field)
}
