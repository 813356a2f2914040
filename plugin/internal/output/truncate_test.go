package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// The first cases are those of the check_pid tool, under its names.
func TestTruncateTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	padded := numbered(5000, "line %04d padding\n")
	tests := map[string]struct {
		text            string
		lines, bytes    int
		want            string
		by              string
		partial, behind bool // behind: the text's beginning is gone already
		mid             bool // as also if partial
	}{
		"returns short input unchanged":               {text: "hello\nworld\n", lines: 100, bytes: 1024, want: "hello\nworld\n"},
		"handles empty input":                         {text: "", lines: 100, bytes: 1024, want: ""},
		"handles input without trailing newline":      {text: "hello\nworld", lines: 100, bytes: 1024, want: "hello\nworld"},
		"truncates by line count":                     {text: numbered(100, "line %d\n"), lines: 10, bytes: 1 << 20, want: numbered(100, "line %d\n")[len(numbered(90, "line %d\n")):], by: "lines"},
		"truncates by byte count":                     {text: strings.Repeat(long[:100]+"\n", 10), lines: 1000, bytes: 350, want: strings.Repeat(long[:100]+"\n", 3), by: "bytes"},
		"preserves complete lines at boundary":        {text: "a\nb\nc\n", lines: 2, bytes: 1024, want: "b\nc\n", by: "lines"},
		"single line exceeding byte limit takes tail": {text: long, lines: 100, bytes: 200, want: long[800:], by: "bytes", partial: true},
		"with default limits handles large output":    {text: padded, lines: shared.DefaultMaxLines, bytes: shared.DefaultMaxBytes, want: padded[3000*len("line 0000 padding\n"):], by: "lines"},

		"a line's newline counts":              {text: "aaaa\nbbbb\n", lines: 10, bytes: 9, want: "bbbb\n", by: "bytes"},
		"exactly at the byte limit":            {text: "aaaa\nbbbb\n", lines: 10, bytes: 10, want: "aaaa\nbbbb\n"},
		"exactly at the line limit":            {text: "a\nb\n", lines: 2, bytes: 10, want: "a\nb\n"},
		"an unfinished line counts as a line":  {text: "a\nb\nc", lines: 2, bytes: 1024, want: "b\nc", by: "lines"},
		"one finished line longer than it":     {text: long + "\n", lines: 100, bytes: 200, want: long[:199] + "\n", by: "bytes", partial: true},
		"a long last line after others":        {text: "a\n" + long, lines: 100, bytes: 200, want: long[:200], by: "bytes", partial: true},
		"a rune is never cut":                  {text: strings.Repeat("語", 10), lines: 1, bytes: 7, want: "語語", by: "bytes", partial: true},
		"no line limit":                        {text: numbered(5000, "%d\n"), lines: -1, bytes: 1 << 20, want: numbered(5000, "%d\n")},
		"empty lines are lines":                {text: "\n\n\n\n", lines: 3, bytes: 10, want: "\n\n\n", by: "lines"},
		"a beginning that is gone is left out": {text: "ne 1\nline 2\n", lines: 10, bytes: 100, want: "ne 1\nline 2\n", by: "bytes", mid: true, behind: true},
		"a short line after a long one":        {text: long + "\nok\n", lines: 10, bytes: 100, want: long[:96] + "\nok\n", by: "bytes", mid: true},
		"the long one counts as a line":        {text: long + "\nok\n", lines: 1, bytes: 100, want: "ok\n", by: "lines"},
		"half is enough":                       {text: long + "\n" + long[:49] + "\n", lines: 10, bytes: 100, want: long[:49] + "\n", by: "bytes"},
		"both limits at once name the lines":   {text: "aa\nbb\n", lines: 1, bytes: 3, want: "bb\n", by: "lines"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := cutTail([]byte(test.text), !test.behind, test.lines, test.bytes)
			assert.Equal(t, test.want, test.text[c.from:])
			assert.Equal(t, test.by, c.by)
			assert.Equal(t, test.partial, c.partial)
			assert.Equal(t, test.partial || test.mid, c.mid)
			if !test.behind {
				requireShown(t, test.text, c, shared.Limits{MaxLines: test.lines, MaxBytes: test.bytes})
			}
		})
	}
}

// requireShown checks what a Result says of the same cut, and its counts.
func requireShown(t *testing.T, text string, c cut, limits shared.Limits) {
	t.Helper()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	write(t, s, text)
	require.NoError(t, s.Close())
	out, kept := s.Show(limits, View{All: true}), text[c.from:]
	out.Path = "" // where the rest is has tests of its own
	require.Equal(t, shared.Output{
		Content:         kept,
		Truncated:       c.by != "",
		TruncatedBy:     c.by,
		LastLinePartial: c.partial,
		StartsMidLine:   c.mid,
		TotalLines:      int64(len(slices.Collect(strings.Lines(text)))),
		TotalBytes:      int64(len(text)),
		OutputLines:     len(slices.Collect(strings.Lines(kept))),
		OutputBytes:     len(kept),
	}, out)
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
		if !c.mid && c.from > 0 {
			require.Equal(t, byte('\n'), s[c.from-1], "cut within a line")
		}
		if whole && len(s) <= size && (lines < 0 || countLines([]byte(s)) <= lines) {
			require.Equal(t, s, kept, "cut although it fits")
		}
		require.Equal(t, c.by != "", c.from > 0 || c.mid, "by says whether something was cut")
	})
}

func TestTailKeepsTheLastBytes(t *testing.T) {
	t.Parallel()
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
			got := tl.textFrom(tl.start(), 0)
			require.Equal(t, string(want), string(got[max(0, len(got)-len(want)):]))
			require.Equal(t, len(want), int(tl.end-max(tl.start(), tl.end-int64(size))))
		}
	}
}
