//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// pluginEnv makes this program a plugin with another implementation of the
// contract: it has no jobs and no live output. The kinds are strict, which
// refuses what it does not know, and lenient, which runs it to its end.
const pluginEnv = "HOST_EXAMPLE_TEST_PLUGIN"

func servePlugin(kind string) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: sh{strict: kind == "strict"}}},
	})
}

type sh struct{ strict bool }

func (s sh) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	if s.strict && (req.Mode == shared.ModeBackground || req.Merge) {
		return nil, &shared.Error{Code: shared.CodeInvalid, Message: "leave out the mode, and Merge"}
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, "sh", "-c", req.Command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = req.Dir, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r := &shared.Result{Command: req.Command, Status: shared.StatusCompleted, Started: time.Now()}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, &shared.Error{Code: shared.CodeStart, Message: err.Error()}
	}
	r.PID, r.ExitCode, r.Duration = cmd.ProcessState.Pid(), cmd.ProcessState.ExitCode(), time.Since(r.Started)
	r.Stdout, r.Stderr = shared.Output{Content: stdout.String()}, shared.Output{Content: stderr.String()}
	switch {
	case ctx.Err() != nil:
		r.Status, r.Cause, r.ExitCode = shared.StatusKilled, shared.CauseCancel, 137
	case err != nil:
		r.Status = shared.StatusFailed
	}
	return r, nil
}

func (sh) Check(_ context.Context, req shared.CheckRequest) (*shared.Result, error) {
	return noJobs(req.PID)
}

func (sh) Kill(_ context.Context, req shared.KillRequest) (*shared.Result, error) {
	return noJobs(req.PID)
}

func noJobs(pid int) (*shared.Result, error) {
	if pid == shared.AllJobs {
		return &shared.Result{}, nil
	}
	return nil, shared.ErrNotFound
}

// withPlugin is host-example with a plugin of another kind.
func withPlugin(t *testing.T, kind, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := program(t, "host-example", append([]string{name, "-plugin", self}, args...)...)
	cmd.Env = append(cmd.Env, pluginEnv+"="+kind, "XDG_CONFIG_HOME="+t.TempDir())
	return cmd
}

func TestOtherPlugins(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"strict", "lenient"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			command := "echo out; printf err >&2; exit 3"
			assert.Equal(t, ran{"out\n", "err", 3}, finish(t, withPlugin(t, kind, "run", command)))
			both, _ := withPlugin(t, kind, "run", command).CombinedOutput()
			assert.Equal(t, "out\nerr", string(both), "where both streams go to one place")

			cmd := withPlugin(t, kind, "repl")
			cmd.Stdin = strings.NewReader("echo out\n:cd /\npwd\n:jobs\nexit 3\n")
			r := finish(t, cmd)
			assert.Equal(t, "out\n/\nno jobs\n", r.stdout)
			assert.Regexp(t, `^\[failed, exit code 3, \d+ms\]\n$`, r.stderr)
			assert.Equal(t, 3, r.code)
		})
	}
}

// Another plugin does not know how to confine commands: asking it to is an error, and no command runs.
func TestAnotherPluginRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{
		{"-read-only"}, {"-private"}, {"-no-network"}, {"-memory", "1GiB"}, {"-log-dir", t.TempDir()}, {"-dir", "/"},
	} {
		file := t.TempDir() + "/ran"
		r := finish(t, withPlugin(t, "lenient", "run", append(flags, "touch "+file)...))
		assert.Equal(t, toolError, r.code, "%s", flags)
		assert.Contains(t, r.stderr, "this plugin cannot keep", "%s", flags)
		assert.Contains(t, r.stderr, flags[0])
		assert.NoFileExists(t, file)
	}
}
