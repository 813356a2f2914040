//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// plugin is a running plugin that the tests share.
var plugin *host.Client

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		serveHello()
	}
	flag.Parse()
	if flag.Lookup("test.fuzzworker").Value.String() == "true" {
		os.Exit(m.Run()) // fuzz targets do without the plugin
	}
	os.Exit(plugintest.Main(func() int {
		logs := filepath.Join(filepath.Dir(plugintest.Path), "logs")
		var err error
		plugin, err = host.Launch(context.Background(), host.LaunchConfig{Path: plugintest.Path, LogDir: logs})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer plugin.Close()
		return m.Run()
	}))
}

// leaves leaves a process running, whose program has begun.
const leaves = plugintest.Forever + ` & until read -rd '' name </proc/$!/cmdline && [ "$name" = sleep ]; do :; done; echo started`

// args are the arguments of a call.
type args = map[string]any

// agent is a model at work: a toolset over a plugin, and a way to wait for
// what its jobs do.
type agent struct {
	*tool.Toolset
	t       testing.TB
	dialect tool.Dialect
	bash    shared.Bash
	dir     string // where commands run
}

// newAgent works with the plugin.
func newAgent(t testing.TB, dialect tool.Dialect) *agent {
	t.Helper()
	return newAgentOver(t, dialect, plugin)
}

// newAgentOver has a working directory of its own.
func newAgentOver(t testing.TB, dialect tool.Dialect, bash shared.Bash) *agent {
	t.Helper()
	return newAgentWith(t, dialect, bash, tool.Options{})
}

func newAgentWith(t testing.TB, dialect tool.Dialect, bash shared.Bash, opts tool.Options) *agent {
	t.Helper()
	plugintest.NoteSources(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	opts.Dir = dir
	tools, err := tool.New(dialect, bash, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, tools.Close()) })
	return &agent{tools, t, dialect, bash, dir}
}

// use calls a tool.
func (a *agent) use(name string, arguments args) tool.Answer {
	a.t.Helper()
	raw, err := json.Marshal(arguments)
	require.NoError(a.t, err)
	return a.Call(a.t.Context(), tool.Call{Name: name, Arguments: raw})
}

// run calls the tool that every dialect has.
func (a *agent) run(arguments args) tool.Answer {
	a.t.Helper()
	return a.use(runTool(a.dialect), arguments)
}

// runTool is that tool's name.
func runTool(dialect tool.Dialect) string {
	if dialect == tool.Claude {
		return "Bash"
	}
	return "bash"
}

// withCommand are the dialects whose first tool takes its command under that name.
func withCommand() []tool.Dialect {
	return slices.DeleteFunc(tool.Dialects(), func(dialect tool.Dialect) bool { return dialect == tool.Codex })
}

// runs calls it for a command alone.
func (a *agent) runs(command string) tool.Answer {
	a.t.Helper()
	return a.run(args{"command": command})
}

// door makes a named pipe in the commands' directory. A command that waits at
// it with "read < NAME" goes on when open is called, which waits for it.
func (a *agent) door(name string) (open func()) {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	require.NoError(a.t, syscall.Mkfifo(path, 0o600))
	return func() {
		a.t.Helper()
		require.NoError(a.t, os.WriteFile(path, []byte("open\n"), 0))
	}
}

// collect calls a tool again and again until its answers, begun with text,
// have every word, and returns them.
func (a *agent) collect(name string, arguments args, text string, words ...string) string {
	a.t.Helper()
	for deadline := time.Now().Add(plugintest.Hang); ; {
		missing := slices.IndexFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		if missing < 0 {
			return text
		}
		require.True(a.t, time.Now().Before(deadline), "no %q in %s", words[missing], text)
		text += a.use(name, arguments).Text + "\n"
	}
}

// awaitEnd waits until nothing of a job runs any more, and shows nothing of it.
func (a *agent) awaitEnd(pid int) {
	a.t.Helper()
	plugintest.Eventually(a.t, "the end of the job", func() bool {
		list, err := a.bash.Check(a.t.Context(), shared.CheckRequest{PID: shared.AllJobs})
		require.NoError(a.t, err)
		for _, job := range list.Jobs {
			if job.PID == pid {
				return job.Status != shared.StatusRunning && len(job.Leftover) == 0
			}
		}
		return true
	})
}
