//go:build unix

package tool_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/tool"
)

// The README's row of a dialect names each of its tools.
func TestTheReadmeNamesEveryTool(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, dialect := range tool.Dialects() {
		row := regexp.MustCompile("(?m)^\\| `" + string(dialect) + "` \\|.*").FindString(string(readme))
		for name := range define(t, dialect) {
			assert.Contains(t, row, "`"+name+"`", dialect)
		}
	}
}
