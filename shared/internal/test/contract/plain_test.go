//go:build unix

package contract

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// plainHost loads the plugin as any go-plugin host does, with Handshake and
// Plugins and nothing else of package shared.
func plainHost(t *testing.T, autoMTLS bool) (shared.Bash, *plugin.Client) {
	t.Helper()
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         shared.Plugins,
		Cmd:             exec.Command(plugintest.Path, "-log-dir="+t.TempDir()),
		AutoMTLS:        autoMTLS,
		Logger:          hclog.NewNullLogger(),
	})
	t.Cleanup(client.Kill)
	connection, err := client.Client()
	require.NoError(t, err)
	bash, err := connection.Dispense(shared.PluginName)
	require.NoError(t, err)
	return bash.(shared.Bash), client
}

func TestAPlainHost(t *testing.T) {
	t.Parallel()
	for name, autoMTLS := range map[string]bool{"without AutoMTLS": false, "with AutoMTLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bash, client := plainHost(t, autoMTLS)
			t.Run("executes", func(t *testing.T) {
				r := plugintest.Run(t, bash, "echo out; echo err >&2; exit 3")
				assert.Equal(t, "out\n", r.Stdout.Content)
				assert.Equal(t, "err\n", r.Stderr.Content)
				assert.Equal(t, 3, r.ExitCode)
			})
			t.Run("checks and kills", func(t *testing.T) {
				pid := plugintest.Background(t, bash, "echo up; "+plugintest.Forever).PID
				plugintest.AwaitText(t, bash, pid, "up")
				assert.Equal(t, shared.CauseKill, plugintest.Kill(t, bash, pid).Cause)
			})
			t.Run("gets typed errors", func(t *testing.T) {
				_, err := bash.Execute(t.Context(), shared.ExecuteRequest{})
				plugintest.RequireCode(t, err, shared.ErrInvalid)
				_, err = bash.Check(t.Context(), shared.CheckRequest{PID: 1 << 30})
				e := plugintest.RequireCode(t, err, shared.ErrNotFound)
				assert.Equal(t, shared.CodeNotFound, e.Code)
				for _, other := range []error{shared.ErrInvalid, shared.ErrStart, shared.ErrClosed, shared.ErrCrashed, shared.ErrInternal} {
					assert.NotErrorIs(t, err, other)
				}
			})
			t.Run("gets large results", func(t *testing.T) {
				r := plugintest.Execute(t, bash, shared.ExecuteRequest{
					Command: "head -c 1048576 /dev/zero | tr '\\0' x | tee /dev/stderr",
					Limits:  shared.Limits{MaxBytes: shared.MaxMaxBytes},
				})
				assert.Equal(t, strings.Repeat("x", 1<<20), r.Stdout.Content)
				assert.Equal(t, r.Stdout.Content, r.Stderr.Content)
			})
			t.Run("gets live output", func(t *testing.T) {
				var stdout, stderr strings.Builder
				plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo out; echo err >&2", Stdout: &stdout, Stderr: &stderr})
				assert.Equal(t, "out\n", stdout.String())
				assert.Equal(t, "err\n", stderr.String())
			})
			t.Run("cancels", func(t *testing.T) {
				ctx, cancel := plugintest.Cancelable(t)
				g := plugintest.NewGate(t)
				running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: g.Wait()})
				cancel()
				done := plugintest.Await(t, running)
				require.NoError(t, done.Err)
				assert.Equal(t, shared.CauseCancel, done.Result.Cause)
			})
			t.Run("ends everything with Kill", func(t *testing.T) {
				r := plugintest.Run(t, bash, "setsid "+plugintest.Forever+" >/dev/null 2>&1 & echo $!")
				child := plugintest.Number(t, r.Stdout.Content)
				plugin := plugintest.Number(t, client.ID())
				client.Kill()
				plugintest.AwaitDeath(t, child, plugin)
				_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
				plugintest.RequireCode(t, err, shared.ErrCrashed)
			})
		})
	}
}

func TestErrorsAreTheirSentinels(t *testing.T) {
	t.Parallel()
	for code, sentinel := range map[shared.Code]error{
		shared.CodeInvalid: shared.ErrInvalid, shared.CodeNotFound: shared.ErrNotFound, shared.CodeStart: shared.ErrStart,
		shared.CodeClosed: shared.ErrClosed, shared.CodeCrashed: shared.ErrCrashed, shared.CodeInternal: shared.ErrInternal,
	} {
		err := error(&shared.Error{Code: code, Message: "why"})
		assert.ErrorIs(t, err, sentinel)
		assert.EqualError(t, err, "why")
		assert.NotErrorIs(t, err, errors.New("why"))
	}
	assert.NotErrorIs(t, shared.ErrInvalid, shared.ErrClosed)
}

func TestAHostWithAnotherCookieIsRefused(t *testing.T) {
	t.Parallel()
	handshake := shared.Handshake
	handshake.MagicCookieValue = "other"
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake,
		Plugins:         shared.Plugins,
		Cmd:             exec.Command(plugintest.Path),
		Logger:          hclog.NewNullLogger(),
	})
	t.Cleanup(client.Kill)
	_, err := client.Client()
	require.Error(t, err)
}
