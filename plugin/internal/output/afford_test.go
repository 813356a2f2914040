package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCostlyEdits shows that a line is finished whose edits would take minutes.
func TestCostlyEdits(t *testing.T) {
	lines := map[string]string{
		"Thai": strings.Repeat("\u0e01", 21000), "flags": strings.Repeat("\U0001f1e9", 15000), "tabs": strings.Repeat("\t", 60000),
		"CJK": strings.Repeat("中", 21000), "ASCII": strings.Repeat("a", 60000),
	}
	edits := map[string]string{
		"insert": "\x1b[@", "erase": "\x1b[X", "delete": "\x1b[P\x1b[@", "there and back": "\r\x1b[60000C", "to a column": "\x1b[30000G\x1b[60000G",
	}
	for what, line := range lines {
		for how, edit := range edits {
			t.Run(what+", "+how, func(t *testing.T) {
				var out bytes.Buffer
				s := NewSanitizer(&out)
				most := 0
				input := line + "\r" + strings.Repeat(edit, 64<<10/len(edit))
				for i := 0; i < len(input); i += 100 {
					_, _ = s.Write([]byte(input[i:min(i+100, len(input))]))
					most = max(most, s.line.work)
				}
				assert.Less(t, most, spareWork+100*maxLine)
				_, _ = s.Write([]byte("\nnext\n"))
				assert.NoError(t, s.Close())
				assert.True(t, strings.HasSuffix(out.String(), "\nnext\n"))
				assert.Equal(t, Sanitize(input+"\nnext\n"), out.String(), "however it is cut")
			})
		}
	}
}

// TestEditsOfATerminalsLine shows that what redraws a line of a terminal's width
// goes on for ever.
func TestEditsOfATerminalsLine(t *testing.T) {
	draws := map[string]func(i int) string{
		"a bar":           func(i int) string { return fmt.Sprintf("\r\x1b[2K%s %3d%%", strings.Repeat("━", i%200), i%100) },
		"a column":        func(i int) string { return fmt.Sprintf("\x1b[1G%s\x1b[150G%7d", strings.Repeat("━", 140), i) },
		"a prompt":        func(i int) string { return fmt.Sprintf("\x1b[1G\x1b[20C\x1b[P\x1b[180C\x1b[@\x1b[1G%7d", i) },
		"behind a tab":    func(i int) string { return "\tab\b\b\b\b\b\b" },
		"wide characters": func(i int) string { return "\x1b[1G" + strings.Repeat("中", 100) + "\x1b[10G\x1b[150C" },
	}
	for what, draw := range draws {
		t.Run(what, func(t *testing.T) {
			var out bytes.Buffer
			s := NewSanitizer(&out)
			for i := range 20_000 {
				_, _ = s.Write([]byte(draw(i)))
			}
			assert.Zero(t, out.Len(), "the line goes on")
			_ = s.Close()
			assert.Less(t, out.Len(), 2000)
		})
	}
}
