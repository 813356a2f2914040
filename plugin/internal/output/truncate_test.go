package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCutTail(t *testing.T) {
	long := strings.Repeat("x", 1000)
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := map[string]struct {
		text            string
		lines, bytes    int
		want            string
		by              string
		partial, behind bool // behind: the text's beginning is gone already
	}{
		"short input stays":                    {text: "hello\nworld\n", lines: 100, bytes: 1024, want: "hello\nworld\n"},
		"empty input":                          {text: "", lines: 100, bytes: 1024, want: ""},
		"no trailing newline":                  {text: "hello\nworld", lines: 100, bytes: 1024, want: "hello\nworld"},
		"by line count":                        {text: numbered(100, "line %d\n"), lines: 3, bytes: 1 << 20, want: "line 97\nline 98\nline 99\n", by: "lines"},
		"by byte count":                        {text: strings.Repeat(long[:100]+"\n", 10), lines: 1000, bytes: 350, want: strings.Repeat(long[:100]+"\n", 3), by: "bytes"},
		"a line's newline counts":              {text: "aaaa\nbbbb\n", lines: 10, bytes: 9, want: "bbbb\n", by: "bytes"},
		"exactly at the byte limit":            {text: "aaaa\nbbbb\n", lines: 10, bytes: 10, want: "aaaa\nbbbb\n"},
		"exactly at the line limit":            {text: "a\nb\n", lines: 2, bytes: 10, want: "a\nb\n"},
		"complete lines at the boundary":       {text: "a\nb\nc\n", lines: 2, bytes: 1024, want: "b\nc\n", by: "lines"},
		"an unfinished line counts as a line":  {text: "a\nb\nc", lines: 2, bytes: 1024, want: "b\nc", by: "lines"},
		"one line longer than the limit":       {text: long, lines: 100, bytes: 200, want: long[800:], by: "bytes", partial: true},
		"one finished line longer than it":     {text: long + "\n", lines: 100, bytes: 200, want: long[:199] + "\n", by: "bytes", partial: true},
		"a long last line after others":        {text: "a\n" + long, lines: 100, bytes: 200, want: long[:200], by: "bytes", partial: true},
		"a rune is never cut":                  {text: strings.Repeat("語", 10), lines: 1, bytes: 7, want: "語語", by: "bytes", partial: true},
		"no line limit":                        {text: numbered(5000, "%d\n"), lines: -1, bytes: 1 << 20, want: numbered(5000, "%d\n")},
		"empty lines are lines":                {text: "\n\n\n\n", lines: 3, bytes: 10, want: "\n\n\n", by: "lines"},
		"a beginning that is gone is left out": {text: "ne 1\nline 2\n", lines: 10, bytes: 100, want: "line 2\n", by: "bytes", behind: true},
		"both limits at once name the lines":   {text: "aa\nbb\n", lines: 1, bytes: 3, want: "bb\n", by: "lines"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := cutTail([]byte(test.text), !test.behind, test.lines, test.bytes)
			assert.Equal(t, test.want, test.text[c.from:])
			assert.Equal(t, test.by, c.by)
			assert.Equal(t, test.partial, c.partial)
		})
	}
}

func FuzzCutTail(f *testing.F) {
	f.Add("a\nb\nc\n", 2, 100, true)
	f.Add("語語語\n語語", 3, 7, false)
	f.Add(strings.Repeat("x", 300)+"\n\n", -1, 200, true)
	f.Fuzz(func(t *testing.T, s string, lines, size int, whole bool) {
		if !utf8.ValidString(s) || lines == 0 || size < utf8.UTFMax {
			return
		}
		c := cutTail([]byte(s), whole, lines, size)
		kept := s[c.from:]
		require.LessOrEqual(t, len(kept), size)
		require.True(t, utf8.ValidString(kept), "a rune was cut")
		if lines > 0 {
			require.LessOrEqual(t, countLines([]byte(kept)), lines)
		}
		if !c.partial && c.from > 0 {
			require.Equal(t, byte('\n'), s[c.from-1], "cut amid a line")
		}
		if whole && len(s) <= size && (lines < 0 || countLines([]byte(s)) <= lines) {
			require.Equal(t, s, kept, "cut although it fits")
		}
		require.Equal(t, c.by != "", c.from > 0 || c.partial, "by says whether something was cut")
	})
}

func TestTailKeepsTheLastBytes(t *testing.T) {
	for _, size := range []int{1, 7, 4096, 5000, 1 << 14} {
		tl := tail{max: size}
		var all []byte
		for i, n := range []int{0, 1, 3, 8, 4095, 1, 10000, 2, 40000, 5} {
			p := bytes.Repeat([]byte{byte('a' + i)}, n)
			all = append(all, p...)
			tl.write(p)
			want := all[max(0, len(all)-size):]
			require.Equal(t, int64(len(all)), tl.end)
			require.LessOrEqual(t, len(tl.buf), size)
			got := tl.appendFrom(nil, tl.start(), size)
			require.Equal(t, string(want), string(got[max(0, len(got)-len(want)):]))
			require.Equal(t, len(want), int(tl.end-max(tl.start(), tl.end-int64(size))))
		}
	}
}
