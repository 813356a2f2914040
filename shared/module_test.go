package shared_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// goTool runs the go command in a folder.
func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}

func TestAHostInAnotherModule(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/host/main.go": "main.go", "../go.sum": "go.sum"} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o600))
	}
	goTool(t, dir, "mod", "init", "example.com/host")
	goTool(t, dir, "mod", "edit", "-require=bashplugin@v0.0.0", "-replace=bashplugin="+root)
	goTool(t, dir, "build", "-o", "host", ".")
	out, err := exec.Command(filepath.Join(dir, "host"), pluginPath, "echo from another module").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "from another module\n", string(out))
}

func TestAnotherImplementationOfTheContract(t *testing.T) {
	path := filepath.Join(t.TempDir(), "altplugin")
	goTool(t, ".", "build", "-o", path, "./testdata/altplugin")
	bash, err := shared.Launch(t.Context(), shared.LaunchConfig{Path: path})
	require.NoError(t, err)
	defer bash.Close()
	result, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "echo out; exit 3"})
	require.NoError(t, err)
	assert.Equal(t, "out\n", result.Stdout.Content)
	assert.Equal(t, 3, result.ExitCode)
	assert.Equal(t, shared.StatusFailed, result.Status)
	_, err = bash.Check(t.Context(), shared.CheckRequest{PID: result.PID})
	assert.ErrorIs(t, err, shared.ErrNotFound)
	require.NoError(t, bash.Close())
}
