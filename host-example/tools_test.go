//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/tool"
)

func TestToolsPrintsDefinitions(t *testing.T) {
	t.Parallel()
	for _, dialect := range tool.Dialects() {
		r := hostExample(t, "tools", "-dialect", string(dialect))
		assert.Zero(t, r.code, r.stderr)
		var definitions []struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			InputSchema map[string]any `json:"input_schema"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &definitions))
		require.NotEmpty(t, definitions)
		assert.Contains(t, []string{"bash", "exec_command"}, strings.ToLower(definitions[0].Name))
		for _, d := range definitions {
			assert.NotEmpty(t, d.Description)
			assert.Equal(t, "object", d.InputSchema["type"])
			assert.NotContains(t, d.InputSchema, "additionalProperties")
		}
	}
	r := hostExample(t, "tools", "-dialect", "nonsense")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, `unknown dialect "nonsense"`)
}

// Each format is the tools of a request to that API.
func TestToolsInTheFormatOfEachAPI(t *testing.T) {
	t.Parallel()
	for _, format := range tool.Formats() {
		tools, err := tool.New(tool.Default, nil, tool.Options{})
		require.NoError(t, err)
		want, err := tools.Render(format)
		require.NoError(t, err)
		assert.JSONEq(t, string(want), hostExample(t, "tools", "-format", string(format), "-dir", "/").stdout)
	}
	r := hostExample(t, "tools", "-format", "nonsense")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, `"nonsense"`)
	assert.Contains(t, r.stderr, "gemini")
}

func TestToolsNamesTheDirectory(t *testing.T) {
	t.Parallel()
	assert.Contains(t, hostExample(t, "tools", "-dialect", "mode", "-dir", "/usr").stdout, "<pwd>/usr</pwd>")
}
