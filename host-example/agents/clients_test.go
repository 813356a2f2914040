//go:build linux

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tools' names and the settings that work, for each agent. CLIENTS.md shows them to people.

func claudeCode(t *testing.T, r run) (args, env []string) {
	servers := object{"mcpServers": object{"bash": object{"command": r.server[0], "args": r.server[1:]}}}
	path := writeJSON(t, filepath.Join(r.home, "mcp.json"), servers)
	args = []string{"-p", prompt, "--mcp-config", path, "--strict-mcp-config", "--allowedTools", "mcp__bash,Bash"}
	env = []string{
		"ANTHROPIC_BASE_URL=" + r.model,
		"ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	}
	if r.timeout > 0 {
		env = append(env, fmt.Sprintf("MCP_TOOL_TIMEOUT=%d", r.timeout.Milliseconds()))
	}
	return args, env
}

func codex(t *testing.T, r run) (args, env []string) {
	home := filepath.Join(r.home, "codex")
	require.NoError(t, os.MkdirAll(home, 0o700))
	quoted := make([]string, len(r.server))
	for i, word := range r.server {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	config := fmt.Sprintf(`model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "DUMMY_KEY"

[mcp_servers.bash]
command = %s
args = [%s]
default_tools_approval_mode = "approve"
`, r.model, quoted[0], strings.Join(quoted[1:], ", "))
	if r.timeout > 0 {
		config += fmt.Sprintf("tool_timeout_sec = %g\n", r.timeout.Seconds())
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600))
	return []string{"exec", "--skip-git-repo-check", prompt}, []string{"CODEX_HOME=" + home, "DUMMY_KEY=dummy"}
}

// mcpServers is the form of Gemini CLI and Qwen Code.
func mcpServers(r run) object {
	server := object{"command": r.server[0], "args": r.server[1:], "trust": true}
	if r.timeout > 0 {
		server["timeout"] = r.timeout.Milliseconds()
	}
	return object{"bash": server}
}

func geminiCLI(t *testing.T, r run) (args, env []string) {
	writeJSON(t, filepath.Join(r.home, ".gemini", "settings.json"), object{
		"mcpServers": mcpServers(r),
		"general":    object{"disableAutoUpdate": true, "enableAutoUpdate": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"telemetry":  object{"enabled": false},
		"security":   object{"auth": object{"selectedType": "gemini-api-key"}},
	})
	return []string{"--yolo", "-m", "gemini-2.5-flash", "-p", prompt}, []string{
		"GOOGLE_GEMINI_BASE_URL=" + r.model,
		"GEMINI_API_KEY=dummy",
		"GEMINI_CLI_TRUST_WORKSPACE=true",
	}
}

func opencode(t *testing.T, r run) (args, env []string) {
	server := object{"type": "local", "command": r.server, "enabled": true}
	if r.timeout > 0 {
		server["timeout"] = r.timeout.Milliseconds()
	}
	path := writeJSON(t, filepath.Join(r.home, "opencode.json"), object{
		"model":       "scripted/scripted",
		"small_model": "scripted/scripted",
		"autoupdate":  false,
		"share":       "disabled",
		"permission":  "allow",
		"mcp":         object{"bash": server},
		"provider": object{"scripted": object{
			"npm":     "@ai-sdk/openai-compatible",
			"name":    "scripted",
			"options": object{"baseURL": r.model + "/v1", "apiKey": "dummy"},
			"models":  object{"scripted": object{"name": "scripted", "tool_call": true}},
		}},
	})
	return []string{"run", prompt}, []string{
		"OPENCODE_CONFIG=" + path,
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	}
}

func qwenCode(t *testing.T, r run) (args, env []string) {
	writeJSON(t, filepath.Join(r.home, ".qwen", "settings.json"), object{
		"mcpServers": mcpServers(r),
		"general":    object{"disableAutoUpdate": true, "enableAutoUpdate": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"telemetry":  object{"enabled": false},
		"security":   object{"auth": object{"selectedType": "openai"}},
	})
	return []string{"--yolo", "--exclude-tools", "tool_search", "-p", prompt}, []string{
		"OPENAI_BASE_URL=" + r.model + "/v1",
		"OPENAI_API_KEY=dummy",
		"OPENAI_MODEL=scripted",
	}
}

func copilot(t *testing.T, r run) (args, env []string) {
	server := object{"type": "local", "command": r.server[0], "args": r.server[1:], "tools": []string{"*"}}
	if r.timeout > 0 {
		server["timeout"] = r.timeout.Milliseconds()
	}
	path := writeJSON(t, filepath.Join(r.home, "mcp.json"), object{"mcpServers": object{"bash": server}})
	args = []string{"-p", prompt, "--allow-all-tools", "--additional-mcp-config", "@" + path}
	return args, []string{
		"COPILOT_PROVIDER_BASE_URL=" + r.model + "/v1",
		"COPILOT_PROVIDER_TYPE=openai",
		"COPILOT_PROVIDER_API_KEY=dummy",
		"COPILOT_MODEL=scripted",
		"COPILOT_OFFLINE=true",
		"COPILOT_AUTO_UPDATE=false",
	}
}
