package tool_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/tool"
)

var (
	readmeAnswer = regexp.MustCompile("\\*\\*([a-z-]+)\\*\\* `(\\w+) (\\{.*\\})` answers\n\n```text\n((?s:.*?))\n```\n")
	variable     = regexp.MustCompile(`bash_\d+_\w+|\d{3,}`) // ids and pids
)

// Each dialect's call in the README gives the answer that stands there.
func TestTheAnswersInTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	shown := make(map[tool.Dialect]bool)
	for _, m := range readmeAnswer.FindAllStringSubmatch(string(readme), -1) {
		dialect := tool.Dialect(m[1])
		tools, err := tool.New(dialect, plugin, tool.Options{Dir: "/tmp"})
		require.NoError(t, err)
		answer := tools.Call(t.Context(), tool.Call{Name: m[2], Arguments: json.RawMessage(m[3])})
		assert.Equal(t, variable.ReplaceAllString(m[4], "N"), variable.ReplaceAllString(strings.TrimRight(answer.Text, "\n"), "N"), m[1])
		require.NoError(t, tools.Close())
		shown[dialect] = true
	}
	for _, dialect := range tool.Dialects() {
		assert.True(t, shown[dialect], "the README shows no call of %s", dialect)
	}
}
