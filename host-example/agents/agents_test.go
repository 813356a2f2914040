//go:build linux

package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// agent is a published agent and how it is run.
type agent struct {
	name string

	// folder is its folder below that of all agents, with npm's package and its program.
	folder  string
	npm     string
	program string

	// prefix is before a tool's name in the names that the model sees.
	prefix string

	// own are the agent's own tools for commands, first the one that runs them, and argument is its
	// argument for the command.
	own      []string
	argument string

	// start writes the agent's configuration below home, and returns its arguments and variables.
	start func(t *testing.T, r run) (args, env []string)
}

// modules is the folder of the agent's npm packages.
func (a agent) modules() string {
	return filepath.Join(os.Getenv(folderEnv), a.folder, "node_modules")
}

// version is that of the installed package.
func (a agent) version() string {
	var about struct{ Version string }
	text, _ := os.ReadFile(filepath.Join(a.modules(), a.npm, "package.json"))
	_ = json.Unmarshal(text, &about)
	return about.Version
}

// run is one run of an agent.
type run struct {
	home    string   // HOME; everything that the agent writes is below it
	model   string   // URL of the model
	server  []string // the MCP server's command
	timeout time.Duration
}

// prompt is what the person says. The script decides what the model does.
const prompt = "begin"

func writeJSON(t *testing.T, path string, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func agentList() []agent {
	return []agent{
		{
			name:     "Claude Code",
			folder:   "claude",
			npm:      "@anthropic-ai/claude-code",
			program:  "claude",
			prefix:   "mcp__bash__",
			own:      []string{"Bash", "TaskOutput", "TaskStop"},
			argument: "command",
			start:    claudeCode,
		},
		{
			name:     "Codex",
			folder:   "codex",
			npm:      "@openai/codex",
			program:  "codex",
			prefix:   "mcp__bash/",
			own:      []string{"exec_command", "write_stdin"},
			argument: "cmd",
			start:    codex,
		},
		{
			name:     "Gemini CLI",
			folder:   "gemini",
			npm:      "@google/gemini-cli",
			program:  "gemini",
			prefix:   "mcp_bash_",
			own:      []string{"run_shell_command", "list_background_processes", "read_background_output"},
			argument: "command",
			start:    geminiCLI,
		},
		{
			name:     "opencode",
			folder:   "opencode",
			npm:      "opencode-ai",
			program:  "opencode",
			prefix:   "bash_",
			own:      []string{"bash"},
			argument: "command",
			start:    opencode,
		},
		{
			name:     "Qwen Code",
			folder:   "qwen",
			npm:      "@qwen-code/qwen-code",
			program:  "qwen",
			prefix:   "mcp__bash__",
			own:      []string{"run_shell_command", "task_stop", "monitor"},
			argument: "command",
			start:    qwenCode,
		},
		{
			name:     "Copilot CLI",
			folder:   "copilot",
			npm:      "@github/copilot",
			program:  "copilot",
			prefix:   "bash-",
			own:      []string{"bash", "write_bash", "read_bash", "stop_bash", "list_bash"},
			argument: "command",
			start:    copilot,
		},
	}
}

// ownCall is a call of the agent's own tool.
func (a agent) ownCall(command string) *call {
	arguments := object{a.argument: command}
	if a.argument == "command" {
		arguments["description"] = "a test" // most want one
	}
	return &call{a.own[0], arguments}
}
