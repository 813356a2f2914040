package executor

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

func newExecutor(t *testing.T, cfg Config) *Executor {
	t.Helper()
	cfg.Logs = output.LogsConfig{Dir: t.TempDir()}
	e, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close()) })
	return e
}

func TestAStartThatFailsIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"too many processes": {syscall.EAGAIN, "no more processes"},
		"environment":        {syscall.E2BIG, "environment is too large"},
		"bash is gone":       {syscall.ENOENT, "no such file"},
		"anything else":      {errors.New("the moon is full"), "the moon is full"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExecutor(t, Config{Start: func(process.Spec) (*process.Group, error) { return nil, test.err }})
			before := openFiles(t)
			for range 2 * MaxRunning { // a failed start must not count as a running command
				r, err := e.Execute(context.Background(), shared.ExecuteRequest{Command: "true"})
				require.ErrorIs(t, err, shared.ErrStart)
				require.ErrorContains(t, err, test.want)
				require.Nil(t, r)
			}
			assert.InDelta(t, before, openFiles(t), 4, "descriptors are left open")
		})
	}
}

func TestACommandIsStartedAsItIs(t *testing.T) {
	var spec process.Spec
	e := newExecutor(t, Config{
		Env:     []string{"HOME=/home/me", "PLUGIN_MIN_PORT=1", "BASH_PLUGIN=cookie", "SECRET_API_KEY=x", "PAGER=less"},
		DropEnv: []string{"*_API_KEY"},
		Start:   func(s process.Spec) (*process.Group, error) { spec = s; return nil, errors.New("no") },
	})
	_, err := e.Execute(context.Background(), shared.ExecuteRequest{Command: " echo 'x' # c\\\n", Dir: "/", Env: []string{"TERM=xterm", "A=1", "A=2"}})
	require.Error(t, err)
	assert.Equal(t, []string{"bash", "-c", "--", " echo 'x' # c\\\n"}, spec.Args)
	assert.Equal(t, "/", spec.Dir)
	assert.Contains(t, spec.Env, "HOME=/home/me")
	assert.Contains(t, spec.Env, "PWD=/")
	assert.Contains(t, spec.Env, "PAGER=cat", "the tool's settings are over the session's environment")
	assert.Contains(t, spec.Env, "TERM=xterm", "the request's are over the tool's")
	assert.Contains(t, spec.Env, "A=2")
	for _, entry := range []string{"A=1", "PAGER=less", "TERM=dumb", "PLUGIN_MIN_PORT=1", "BASH_PLUGIN=cookie", "SECRET_API_KEY=x"} {
		assert.NotContains(t, spec.Env, entry)
	}
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	return len(entries)
}
