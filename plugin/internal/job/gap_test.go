package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGap(t *testing.T) {
	long := strings.Repeat("x", gapEnd-1)
	for name, test := range map[string]struct {
		parts []string
		want  string
	}{
		"nothing":           {nil, ""},
		"all of it is kept": {[]string{"a\n", "b\n", "c"}, "a\nb\nc"},
		"as much as can be": {[]string{"a", long}, "a" + long},
		"one byte is not":   {[]string{"a", "b", long}, "\n[… 1 bytes skipped …]\nb" + long},
		"whole lines":       {[]string{"a\n", long, "b\nc\nd"}, "\n[… 4099 bytes skipped …]\nc\nd"},
		"the last line":     {[]string{"a\n", long, "b\n"}, "\n[… 3 bytes skipped …]\n" + long[1:] + "b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var g gap
			for _, part := range test.parts {
				g.add([]byte(part))
			}
			assert.Equal(t, test.want, string(g.text()))
			assert.Equal(t, len(test.parts) == 0, g.isEmpty())
			g.close()
			assert.True(t, g.isEmpty())
			assert.Empty(t, g.text())
		})
	}
}
