//go:build unix

package host_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

func TestReattachEndsWithItsContext(t *testing.T) {
	t.Setenv(host.ReattachName, heldPlugin(t))
	ctx, cancel := context.WithTimeout(t.Context(), briefly)
	defer cancel()
	attempt := plugintest.Start(func() (*shared.Result, error) {
		_, err := host.Launch(ctx, host.LaunchConfig{Path: plugintest.Path, StartTimeout: 1000 * plugintest.Hang})
		return nil, err
	})
	require.ErrorIs(t, plugintest.Await(t, attempt).Err, context.DeadlineExceeded)
}

// A debugger may hold the plugin that a call would connect to.
func TestCloseEndsAReattachUnderWay(t *testing.T) {
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, LogDir: t.TempDir(), StartTimeout: 1000 * plugintest.Hang})
	require.NoError(t, err)
	held, err := net.Listen("unix", filepath.Join(plugintest.ShortDir(t), "s"))
	require.NoError(t, err)
	defer held.Close()
	t.Setenv(host.ReattachName, host.Reattach{Protocol: "netrpc", Version: 2, PID: os.Getpid(), Network: "unix", Addr: held.Addr().String()}.String())
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
	call := plugintest.Start(func() (*shared.Result, error) {
		for {
			_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
			if !errors.Is(err, shared.ErrCrashed) {
				return nil, err
			}
		}
	})
	connection, err := held.Accept()
	require.NoError(t, err)
	defer connection.Close()
	closed := plugintest.Start(func() (*shared.Result, error) { return nil, bash.Close() })
	require.NoError(t, plugintest.Await(t, closed).Err)
	require.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrClosed)
}
