//go:build unix

package shared_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// goTool runs the go command in a folder.
func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}

// hostProgram is the least that a host of another module needs.
const hostProgram = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

func main() {
	bash, err := host.Launch(context.Background(), host.LaunchConfig{Path: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()
	result, err := bash.Execute(context.Background(), shared.ExecuteRequest{Command: os.Args[2]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content)
}
`

func TestAHostInAnotherModule(t *testing.T) {
	t.Parallel()
	plugintest.NoteSources(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(hostProgram), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(plugintest.ReadFile(t, "../go.sum")), 0o600))
	goTool(t, dir, "mod", "init", "example.com/host")
	goTool(t, dir, "mod", "edit", "-require=bashplugin@v0.0.0", "-replace=bashplugin="+root)
	goTool(t, dir, "build", "-o", "host", ".")
	out, err := exec.Command(filepath.Join(dir, "host"), plugintest.Path, "echo from another module").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "from another module\n", string(out))
}

// otherPluginEnv makes this test program a plugin that serves the sh of
// ExamplePlugin, by go-plugin's own Serve.
const otherPluginEnv = "TEST_OTHER_PLUGIN"

func serveOtherPlugin() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: sh{}, Disconnected: func() { os.Exit(0) }}},
	})
}

func TestAnotherImplementationOfTheContract(t *testing.T) {
	t.Parallel()
	log := new(plugintest.Buffer)
	program, err := os.Executable()
	require.NoError(t, err)
	bash, err := host.Launch(t.Context(), host.LaunchConfig{
		Path:   program,
		Env:    []string{otherPluginEnv + "=yes", "TMPDIR=" + plugintest.ShortDir(t)},
		Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug}),
	})
	require.NoError(t, err)
	defer bash.Close()

	t.Run("output and exit code", func(t *testing.T) {
		r := plugintest.Run(t, bash, "echo out; echo err >&2; exit 3")
		assert.Equal(t, []any{"out\n", "err\n", 3, shared.StatusFailed}, []any{r.Stdout.Content, r.Stderr.Content, r.ExitCode, r.Status})
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := plugintest.Cancelable(t)
		ready := filepath.Join(t.TempDir(), "ready")
		running := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "echo $$ >" + ready + "; exec sleep 1000"})
		pids := plugintest.Numbers(t, plugintest.AwaitFile(t, ready))
		cancel()
		done := plugintest.Await(t, running)
		require.NoError(t, done.Err)
		assert.Equal(t, shared.StatusKilled, done.Result.Status)
		plugintest.AwaitDeath(t, pids...)
	})
	t.Run("errors", func(t *testing.T) {
		_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Dir: "/no/such/dir"})
		plugintest.RequireCode(t, err, shared.ErrStart)
		_, err = bash.Check(t.Context(), shared.CheckRequest{PID: 7})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
		assert.Empty(t, plugintest.Kill(t, bash, shared.AllJobs).Jobs)
	})
	t.Run("commands can write on its stderr, which does not harm the host", func(t *testing.T) {
		assert.Equal(t, "survived\n", plugintest.Run(t, bash, `echo '{"@message":5}' >/proc/$PPID/fd/2; echo survived`).Stdout.Content)
		plugintest.Eventually(t, "the line in the log", func() bool { return strings.Contains(log.String(), `: {"@message":5}`) })
	})
	t.Run("close", func(t *testing.T) {
		pid := bash.PluginPID()
		require.NoError(t, bash.Close())
		plugintest.AwaitDeath(t, pid)
	})
}
