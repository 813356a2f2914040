//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// typescriptSDK is the version of the official TypeScript SDK that drives the server.
const typescriptSDK = "@modelcontextprotocol/sdk@1.32.2"

// installSDK makes a folder with the SDK and client.mjs, which all tests share. out is
// what npm said. The SDK stays in bin/ for the next time.
var installSDK = sync.OnceValues(func() (out string, err error) {
	dir := filepath.Join(programs, "typescript")
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		return "", err
	}
	kept, err := filepath.Abs(filepath.Join("..", "bin", "test", strings.ReplaceAll(typescriptSDK, "/", "-"), "node_modules"))
	if err != nil {
		return "", err
	}
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(kept); err == nil {
		return "", os.Symlink(kept, modules)
	}
	out, err = npmInstall(dir)
	if err != nil {
		return out, err
	}
	if os.MkdirAll(filepath.Dir(kept), 0o755) == nil && os.Rename(modules, kept) == nil {
		err = os.Symlink(kept, modules)
	} // otherwise it cannot be kept
	return out, err
})

func npmInstall(dir string) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", typescriptSDK)
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// noRegistry matches what npm says if the registry is out of reach.
var noRegistry = regexp.MustCompile(`npm (ERR!|error) (network|code E(403|5\d\d))`)

// toolCall is a call that the TypeScript client makes.
type toolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`         // JOB stands for the id that an earlier answer names
	Timeout   int            `json:"timeout,omitempty"` // in milliseconds
}

// exchange is what the TypeScript client prints.
type exchange struct {
	Version, Instructions string
	Schemas               int
	Seen                  []structuredContent
}

func typescript(t *testing.T, args []string, calls ...toolCall) exchange {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("the TypeScript SDK needs node and npm:", err)
		}
	}
	out, err := installSDK()
	if err != nil && noRegistry.MatchString(out) {
		t.Skip(typescriptSDK, "cannot be had from the registry:", out)
	}
	require.NoError(t, err, out)
	text, err := json.Marshal(calls)
	require.NoError(t, err)
	server := program(t, "host-example", append([]string{"mcp"}, args...)...)
	cmd := exec.Command("node", append([]string{filepath.Join(programs, "typescript", "client.mjs"), string(text)}, server.Args...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = server.Env, server.Dir, hang
	r := finish(t, cmd)
	require.Zero(t, r.code, r.stderr)
	var c exchange
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &c), r.stdout)
	require.Len(t, c.Seen, len(calls))
	return c
}

// bash calls the tool of that name.
func bash(command string) toolCall {
	return toolCall{Name: "bash", Arguments: map[string]any{"command": command}}
}

// A client that prefers structured content shows its model the same text, because by
// default there is nothing else.
func TestATypeScriptClientSeesTheText(t *testing.T) {
	t.Parallel()
	c := typescript(t, nil, bash("echo hello; exit 3"), bash(""))
	assert.Contains(t, c.Seen[0].Text, "hello\n")
	assert.Contains(t, c.Seen[0].Text, "exit code 3")
	assert.Zero(t, c.Seen[0].PID)
	assert.Contains(t, c.Seen[1].Text, "command is empty")
	assert.Zero(t, c.Schemas)
	assert.Equal(t, strings.Fields(hostExample(t, "version").stdout)[1], c.Version)
	assert.Contains(t, c.Instructions, "bash_job")
}

func TestATypeScriptClientSeesTheTextInStructuredContent(t *testing.T) {
	t.Parallel()
	c := typescript(t, []string{"-structured"}, bash("echo hello; exit 3"), bash(endless+" & echo begun"), bash(""),
		toolCall{Name: "bash_jobs", Arguments: map[string]any{}})
	ended, job, refused, list := c.Seen[0], c.Seen[1], c.Seen[2], c.Seen[3]
	assert.Equal(t, 5, c.Schemas)
	assert.Contains(t, ended.Text, "exit code 3")
	assert.Equal(t, "hello\n", ended.Stdout.Content)
	assert.Equal(t, 3, ended.ExitCode)
	assert.Contains(t, job.Text, job.ID)
	assert.Len(t, job.Leftover, 1)
	assert.Contains(t, refused.Text, "command is empty")
	assert.EqualValues(t, "INVALID_REQUEST", refused.Error.Code)
	assert.Contains(t, list.Text, job.ID)
	assert.Len(t, list.Jobs, 1)
}

// A client that has given a call up finds its command among the jobs.
func TestATypeScriptClientThatGivesUpFindsTheJob(t *testing.T) {
	t.Parallel()
	call := bash("echo begun; " + endless)
	call.Timeout = 5000 // enough to start it
	c := typescript(t, []string{"-structured"}, call, toolCall{Name: "bash_jobs", Arguments: map[string]any{}},
		toolCall{Name: "bash_job", Arguments: map[string]any{"id": "JOB"}},
		toolCall{Name: "bash_kill", Arguments: map[string]any{"id": "JOB"}})
	assert.EqualValues(t, "-32001", c.Seen[0].Error.Code, "the client waits no longer")
	require.Len(t, c.Seen[1].Jobs, 1, c.Seen[1].Text)
	assert.Contains(t, c.Seen[1].Text, endless)
	assert.Contains(t, c.Seen[2].Text, "begun\n")
	assert.Equal(t, shared.StatusKilled, c.Seen[3].Status, c.Seen[3].Text)
}
