package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// typescriptSDK is the version of the official TypeScript SDK that drives the server.
const typescriptSDK = "@modelcontextprotocol/sdk@1.32.2"

// installSDK returns a folder with the SDK and client.mjs, which all tests share, or why
// there is none.
var installSDK = sync.OnceValues(func() (dir, missing string) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", "the TypeScript SDK needs npm, which is not here: " + err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	dir = filepath.Join(programs, "typescript")
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", typescriptSDK)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", typescriptSDK + " cannot be had from the registry: " + string(out)
	}
	if out, err := exec.Command("cp", filepath.Join("testdata", "client.mjs"), dir).CombinedOutput(); err != nil {
		return "", string(out)
	}
	return dir, ""
})

// toolCall is a call that the TypeScript client makes.
type toolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
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
	dir, missing := installSDK()
	if missing != "" {
		t.Skip(missing)
	}
	text, err := json.Marshal(calls)
	require.NoError(t, err)
	server := program(t, "host-example", append([]string{"mcp"}, args...)...)
	cmd := exec.Command("node", append([]string{filepath.Join(dir, "client.mjs"), string(text)}, server.Args...)...)
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
	assert.Equal(t, strings.Fields(host(t, "version").stdout)[1], c.Version)
	assert.Contains(t, c.Instructions, "bash_job")
}

func TestATypeScriptClientSeesTheTextInStructuredContent(t *testing.T) {
	t.Parallel()
	c := typescript(t, []string{"-structured"}, bash("echo hello; exit 3"), bash(endless+" & echo begun"), bash(""),
		toolCall{Name: "bash_jobs", Arguments: map[string]any{}})
	ended, job, refused, list := c.Seen[0], c.Seen[1], c.Seen[2], c.Seen[3]
	assert.Equal(t, 4, c.Schemas)
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
	c := typescript(t, nil, call, toolCall{Name: "bash_jobs", Arguments: map[string]any{}},
		toolCall{Name: "bash_job", Arguments: map[string]any{"id": "job_1", "all": true}},
		toolCall{Name: "bash_kill", Arguments: map[string]any{"id": "job_1"}})
	assert.Equal(t, "-32001", c.Seen[0].Error.Code, "the client waits no longer")
	assert.Contains(t, c.Seen[1].Text, "job_1 is running")
	assert.Contains(t, c.Seen[2].Text, "begun\n")
	assert.Contains(t, c.Seen[3].Text, "job_1 is killed")
}
