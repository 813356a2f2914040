package sanitize

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEditsOfATerminalsLine shows that what redraws a line of a terminal's width
// goes on for ever.
func TestEditsOfATerminalsLine(t *testing.T) {
	t.Parallel()
	draws := map[string]func(i int) string{
		"a bar":           func(i int) string { return fmt.Sprintf("\r\x1b[2K%s %3d%%", strings.Repeat("━", i%200), i%100) },
		"a column":        func(i int) string { return fmt.Sprintf("\x1b[1G%s\x1b[150G%7d", strings.Repeat("━", 140), i) },
		"a prompt":        func(i int) string { return fmt.Sprintf("\x1b[1G\x1b[20C\x1b[180C\x1b[1G%7d", i) },
		"behind a tab":    func(i int) string { return "\tab\b\b\b\b\b\b" },
		"wide characters": func(i int) string { return "\x1b[1G" + strings.Repeat("中", 100) + "\x1b[10G\x1b[150C" },
	}
	for what, draw := range draws {
		t.Run(what, func(t *testing.T) {
			var out bytes.Buffer
			s := New(&out)
			for i := range 5_000 {
				_, _ = s.Write([]byte(draw(i)))
			}
			assert.Zero(t, out.Len(), "the line goes on")
			_ = s.Close()
			assert.Less(t, out.Len(), 2000)
		})
	}
}
