//go:build unix

package contract

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

func TestInvalidExecuteRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: dir})
	plugin := bash.PluginPID()
	touch := "echo >" + filepath.Join(dir, "trace")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	deleted := filepath.Join(dir, "deleted")
	require.NoError(t, os.Mkdir(deleted, 0o700))
	require.NoError(t, os.Remove(deleted))
	for name, c := range map[string]struct {
		req  shared.ExecuteRequest
		says []string // the field, and what is allowed
	}{
		"no command":         {shared.ExecuteRequest{}, []string{"Command", "empty"}},
		"blank command":      {shared.ExecuteRequest{Command: " \t\n"}, []string{"Command", "empty"}},
		"NUL in the command": {shared.ExecuteRequest{Command: touch + "\x00"}, []string{"Command", "NUL"}},
		"command too long":   {shared.ExecuteRequest{Command: touch + " # " + strings.Repeat("x", shared.MaxCommandBytes)}, []string{"Command", "1048576"}},
		"unknown mode":       {shared.ExecuteRequest{Command: touch, Mode: "fast"}, []string{"Mode", `"fast"`, "detach", "terminate", "background", "auto"}},
		"mode in capitals":   {shared.ExecuteRequest{Command: touch, Mode: "Detach"}, []string{"Mode", "detach"}},
		"negative timeout":   {shared.ExecuteRequest{Command: touch, Timeout: -1}, []string{"Timeout", "0", "positive"}},
		"missing dir":        {shared.ExecuteRequest{Command: touch, Dir: "/no/such/dir"}, []string{"Dir", "/no/such/dir", "does not exist"}},
		"missing dir below":  {shared.ExecuteRequest{Command: touch, Dir: "none"}, []string{"Dir", filepath.Join(dir, "none"), "does not exist"}},
		"deleted dir":        {shared.ExecuteRequest{Command: touch, Dir: deleted}, []string{"Dir", deleted, "does not exist"}},
		"dir is a file":      {shared.ExecuteRequest{Command: touch, Dir: file}, []string{"Dir", file, "not a directory"}},
		"dir below a file":   {shared.ExecuteRequest{Command: touch, Dir: file + "/x"}, []string{"Dir", file + "/x", "not a directory"}},
		"dir with a NUL":     {shared.ExecuteRequest{Command: touch, Dir: "a\x00b"}, []string{"Dir"}},
		"dir far too long":   {shared.ExecuteRequest{Command: touch, Dir: strings.Repeat("x", 5000)}, []string{"Dir", "too long"}},
		"env without =":      {shared.ExecuteRequest{Command: touch, Env: []string{"A=1", "B"}}, []string{"Env[1]", `"B"`, "KEY=VALUE"}},
		"env without a key":  {shared.ExecuteRequest{Command: touch, Env: []string{"=1"}}, []string{"Env[0]", "KEY=VALUE"}},
		"empty env entry":    {shared.ExecuteRequest{Command: touch, Env: []string{""}}, []string{"Env[0]", "KEY=VALUE"}},
		"env with a NUL":     {shared.ExecuteRequest{Command: touch, Env: []string{"A=\x00"}}, []string{"Env[0]", "NUL"}},
		"negative MaxBytes":  {shared.ExecuteRequest{Command: touch, Limits: shared.Limits{MaxBytes: -1}}, []string{"Limits.MaxBytes", "-1", "1048576"}},
		"huge MaxBytes":      {shared.ExecuteRequest{Command: touch, Limits: shared.Limits{MaxBytes: shared.MaxMaxBytes + 1}}, []string{"Limits.MaxBytes", "1048577", "1048576"}},
		"negative Ends":      {shared.ExecuteRequest{Command: touch, Limits: shared.Limits{Ends: -1}}, []string{"Limits.Ends", "-1", "1048576"}},
		"huge Ends":          {shared.ExecuteRequest{Command: touch, Limits: shared.Limits{Ends: 1 << 40}}, []string{"Limits.Ends", "1048576"}},
	} {
		for _, mode := range []shared.Mode{shared.ModeDetach, shared.ModeBackground} {
			if c.req.Mode == "" || c.req.Mode == shared.ModeDetach {
				c.req.Mode = mode
			}
			t.Run(name+", "+string(mode), func(t *testing.T) {
				r, err := bash.Execute(t.Context(), c.req)
				assert.Nil(t, r)
				e := plugintest.RequireCode(t, err, shared.ErrInvalid)
				assert.Equal(t, c.says[0], e.Field)
				for _, text := range c.says {
					assert.Contains(t, e.Message, text)
				}
				assert.Less(t, len(e.Message), 6000, "a message, not an echo of the request")
			})
		}
	}
	assert.NoFileExists(t, filepath.Join(dir, "trace"), "something was started")
	assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	assert.Equal(t, "alive\n", plugintest.Run(t, bash, "echo alive").Stdout.Content)
	assert.Equal(t, plugin, bash.PluginPID())
}

func TestADirectoryThatMayNotBeEntered(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may enter every directory")
	}
	dir := filepath.Join(t.TempDir(), "closed")
	require.NoError(t, os.Mkdir(dir, 0o600))
	_, err := plugintest.Launch(t).Execute(t.Context(), shared.ExecuteRequest{Command: "true", Dir: dir})
	e := plugintest.RequireCode(t, err, shared.ErrInvalid)
	assert.Contains(t, e.Message, dir)
	assert.Contains(t, e.Message, "permission denied")
}

func TestNoBashInPath(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"PATH=" + empty}})
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	e := plugintest.RequireCode(t, err, shared.ErrStart)
	assert.Contains(t, e.Message, "bash")
	assert.Contains(t, e.Message, empty)
}

func TestAnEnvironmentTooLargeForTheSystem(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Env: []string{"A=" + strings.Repeat("x", 1<<20)}})
	assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrStart).Message, "environment")
	assert.Equal(t, "alive\n", plugintest.Run(t, bash, "echo alive").Stdout.Content)
}

func TestInvalidCheckRequests(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo text; "+plugintest.Forever).PID
	for name, c := range map[string]struct {
		req  shared.CheckRequest
		says []string
	}{
		"pid 0":             {shared.CheckRequest{}, []string{"PID", "0", "AllJobs"}},
		"pid -2":            {shared.CheckRequest{PID: -2}, []string{"PID", "-2", "AllJobs"}},
		"negative wait":     {shared.CheckRequest{PID: pid, Wait: -1}, []string{"Wait", "0", "positive"}},
		"bad expression":    {shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "a(b"}, []string{"WaitFor", "regular expression", "a(b"}},
		"huge expression":   {shared.CheckRequest{PID: pid, WaitFor: "(a{1000}){1000}"}, []string{"WaitFor", "regular expression"}},
		"list and wait":     {shared.CheckRequest{PID: shared.AllJobs, Wait: plugintest.Hang}, []string{"Wait", "AllJobs"}},
		"long expression":   {shared.CheckRequest{PID: pid, WaitFor: strings.Repeat("a|b.", 2<<20)}, []string{"WaitFor", "8388608", "1000"}},
		"list and wait for": {shared.CheckRequest{PID: shared.AllJobs, WaitFor: "x"}, []string{"Wait", "WaitFor", "AllJobs"}},
		"negative MaxBytes": {shared.CheckRequest{PID: pid, Limits: shared.Limits{MaxBytes: -1}}, []string{"Limits.MaxBytes", "1048576"}},
		"huge MaxBytes":     {shared.CheckRequest{PID: pid, Limits: shared.Limits{MaxBytes: 1 << 40}}, []string{"Limits.MaxBytes", "1048576"}},
		"negative Ends":     {shared.CheckRequest{PID: pid, Limits: shared.Limits{Ends: -1}}, []string{"Limits.Ends", "1048576"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := bash.Check(t.Context(), c.req)
			assert.Nil(t, r)
			e := plugintest.RequireCode(t, err, shared.ErrInvalid)
			assert.Equal(t, c.says[0], e.Field)
			for _, text := range c.says {
				assert.Contains(t, e.Message, text)
			}
		})
	}
	for _, unknown := range []int{1, bash.PluginPID(), os.Getpid(), 1 << 40} {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: unknown})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
	}
	assert.Equal(t, "text\n", plugintest.AwaitText(t, bash, pid, "text").Stdout.Content, "nothing was lost")
}

func TestInvalidKillRequests(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "echo text; "+plugintest.Forever).PID
	for name, c := range map[string]struct {
		req  shared.KillRequest
		says []string
	}{
		"pid 0":             {shared.KillRequest{}, []string{"PID", "0", "AllJobs"}},
		"pid -2":            {shared.KillRequest{PID: -2}, []string{"PID", "-2", "AllJobs"}},
		"negative signal":   {shared.KillRequest{PID: pid, Signal: -9}, []string{"Signal", "-9", "SIGTERM"}},
		"no such signal":    {shared.KillRequest{PID: pid, Signal: 999}, []string{"Signal", "999", "SIGTERM"}},
		"negative grace":    {shared.KillRequest{PID: pid, Grace: -1}, []string{"Grace", "0", "positive"}},
		"negative MaxBytes": {shared.KillRequest{PID: pid, Limits: shared.Limits{MaxBytes: -1}}, []string{"Limits.MaxBytes", "1048576"}},
		"huge MaxBytes":     {shared.KillRequest{PID: pid, Limits: shared.Limits{MaxBytes: 1 << 40}}, []string{"Limits.MaxBytes", "1048576"}},
		"negative Ends":     {shared.KillRequest{PID: pid, Limits: shared.Limits{Ends: -1}}, []string{"Limits.Ends", "1048576"}},
		"all, bad signal":   {shared.KillRequest{PID: shared.AllJobs, Signal: syscall.Signal(-1)}, []string{"Signal"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := bash.Kill(t.Context(), c.req)
			assert.Nil(t, r)
			e := plugintest.RequireCode(t, err, shared.ErrInvalid)
			assert.Equal(t, c.says[0], e.Field)
			for _, text := range c.says {
				assert.Contains(t, e.Message, text)
			}
		})
	}
	for _, unknown := range []int{1, bash.PluginPID(), os.Getpid(), 1 << 40} {
		_, err := bash.Kill(t.Context(), shared.KillRequest{PID: unknown})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
	}
	assert.True(t, plugintest.Alive(pid))
	assert.Equal(t, "text\n", plugintest.AwaitText(t, bash, pid, "text").Stdout.Content, "nothing was lost")
}
