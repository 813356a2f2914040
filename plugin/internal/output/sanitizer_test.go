package output

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/bench/input"
)

// sanitizeSplit feeds s in chunks that end at the given positions.
func sanitizeSplit(s string, at ...int) string {
	var b bytes.Buffer
	z := NewSanitizer(&b)
	last := 0
	for _, i := range at {
		_, _ = z.Write([]byte(s[last:i]))
		_ = z.Line() // looking must not change anything
		last = i
	}
	_, _ = z.Write([]byte(s[last:]))
	_ = z.Close()
	return b.String()
}

// requireEverySplit tries s whole, byte by byte, and in two at every point.
func requireEverySplit(t *testing.T, want, s string) {
	t.Helper()
	require.Equal(t, want, Sanitize(s), "whole")
	var each []int
	for i := range len(s) {
		each = append(each, i)
		require.Equal(t, want, sanitizeSplit(s, i), "split at %d", i)
	}
	require.Equal(t, want, sanitizeSplit(s, each...), "byte by byte")
}

func TestSanitize(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"plain text":              {"hello world", "hello world"},
		"colours":                 {"\x1b[31mhello\x1b[0m", "hello"},
		"bold and underline":      {"\x1b[1mbold\x1b[22m", "bold"},
		"tabs and newlines stay":  {"a\tb\nc", "a\tb\nc"},
		"control characters go":   {"a\x01b\x02c\x07", "abc"},
		"CRLF is LF":              {"a\r\nb\r\n", "a\nb\n"},
		"CR CR LF is LF":          {"a\r\r\nb", "a\nb"},
		"a lone CR overwrites":    {"progress 50%\rprogress done", "progress done"},
		"empty":                   {"", ""},
		"escapes alone":           {"\x1b[31m\x1b[0m", ""},
		"a title":                 {"\x1b]0;title\x07text", "text"},
		"marks":                   {"\x1b[32m✓\x1b[0m test passed\n\x1b[31m✗\x1b[0m test failed\n", "✓ test passed\n✗ test failed\n"},
		"a compiler":              {"\x1b[1mmain.go:10:5:\x1b[0m \x1b[31merror:\x1b[0m undefined: foo\n", "main.go:10:5: error: undefined: foo\n"},
		"CR at the end":           {"abc\r", "abc"},
		"CR shorter than before":  {"abcdef\rXY", "XYcdef"},
		"CR then erase":           {"abcdef\r\x1b[KXY", "XY"},
		"erase then CR":           {"50%\x1b[2K\rdone\n", "done\n"},
		"erase the whole line":    {"abc\x1b[2Kx", "   x"},
		"erase to the beginning":  {"abcdef\x1b[4G\x1b[1Kx", "   xef"},
		"erase everything before": {"abc\x1b[1K", ""},
		"backspace":               {"abc\b\bX", "aXc"},
		"backspace at the start":  {"\b\bab", "ab"},
		"overstrike":              {"N\bNA\bAM\bME\bE", "NAME"},
		"underline of man":        {"_\bf_\bo_\bo", "foo"},
		"spinner":                 {"|\b/\b-\b\\\bdone\n", "done\n"},
		"cursor to a column":      {"abcdef\x1b[3GX\n", "abXdef\n"},
		"cursor forward":          {"a\x1b[3Cb", "a   b"},
		"cursor back":             {"abcdef\x1b[2DX", "abcdXf"},
		"erase characters":        {"abcdef\x1b[2G\x1b[3Xx", "ax  ef"},
		"delete characters":       {"abcdef\x1b[2G\x1b[3P", "aef"},
		"insert characters":       {"abc\x1b[2G\x1b[2@", "a  bc"},
		"moves between lines go":  {"a\x1b[2Ab\x1b[1;1Hc\x1b[2J\n", "abc\n"},
		"private modes go":        {"\x1b[?25la\x1b[?25h\x1b[?1049h", "a"},
		"private erase goes":      {"abc\x1b[?2Kd", "abcd"},
		"charset":                 {"\x1b(B\x1b)0a\x1b#8b", "ab"},
		"two bytes":               {"\x1b7a\x1b8\x1b=b\x1bMc", "abc"},
		"OSC with ST":             {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		"OSC with runes":          {"\x1b]0;日本語\x07text", "text"},
		"DCS":                     {"\x1bPq#0;2;0;0;0\x1b\\a", "a"},
		"APC, PM, SOS":            {"\x1b_apc\x1b\\a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", "abc"},
		"C1 as UTF-8":             {"\u009b31mred\u009b0m \u009d0;t\u009cx\u0085y", "red xy"},
		"C1 as a byte":            {"\x9b31mred\x9b0m\x9d0;t\x9cx", "redx"},
		"CAN ends a sequence":     {"\x1b[31\x18a", "a"},
		"ESC begins another":      {"\x1b[31\x1b[32ma", "a"},
		"a control in a sequence": {"a\x1b[3\n1mb", "a\nb"},
		"title without an end":    {"\x1b]0;title\nreal output\n", "\nreal output\n"},
		"escape at the end":       {"a\x1b[3", "a"},
		"invalid UTF-8":           {"a\xffb\xfe", "a\uFFFDb\uFFFD"},
		"a rune cut short":        {"a\xe6\x97", "a\uFFFD"},
		"a rune cut by ASCII":     {"\xe6\x97A", "\uFFFDA"},
		"an overlong NUL":         {"\xc0\x80", "\uFFFD\uFFFD"},
		"a surrogate":             {"\xed\xa0\x80a", "\uFFFD\uFFFD\uFFFDa"},
		"wide text":               {"日本語\n", "日本語\n"},
		"wide text overwritten":   {"日本語\rab", "ab本語"},
		"half a wide rune":        {"日本語\ra", "a 本語"},
		"back over a wide rune":   {"日本\b\bx", "日x "},
		"combining marks":         {"e\u0301x\rab", "ab"},
		"a mark after a move":     {"ab\x1b[1Ga\u0301", "a\u0301b"},
		"blocks of a bar":         {"\r██░░ 50%\r████ 99%\n", "████ 99%\n"},
		"a tab overwritten":       {"a\tb\r\x1b[3Gx", "a x     b"},
		"a tab over text":         {"abcdefghij\r\tX", "abcdefghXj"},
		"a tab at the end":        {"é\rx\ty", "x\ty"},
		"DEL goes":                {"a\x7fb", "ab"},
		"VT and FF go":            {"a\vb\fc\x00d", "abcd"},
		"emoji":                   {"👍 ok\n", "👍 ok\n"},
	} {
		t.Run(name, func(t *testing.T) { requireEverySplit(t, test.want, test.in) })
	}
}

func TestSanitizeLargeInput(t *testing.T) {
	line := "\x1b[32m" + strings.Repeat("x", 1000) + "\x1b[0m\n"
	assert.Equal(t, strings.Repeat(strings.Repeat("x", 1000)+"\n", 1000), Sanitize(strings.Repeat(line, 1000)))
}

func TestAnEscapeThatNeverEndsDoesNotSwallowTheRest(t *testing.T) {
	for _, start := range []string{"\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b[", "\x1b[1;", "\x9d"} {
		text := strings.Repeat("0", 100_000)
		got := Sanitize(start + text)
		assert.Greater(t, len(got), len(text)-maxEscape-1, "after %q", start)
		for _, split := range []int{1, 2, 4095, 4096, 4097, 5000} {
			assert.Equal(t, got, sanitizeSplit(start+text, split), "%q split at %d", start, split)
		}
	}
}

func TestLineIsWhatATerminalShowsNow(t *testing.T) {
	z := NewSanitizer(new(bytes.Buffer))
	for _, step := range []struct{ in, want string }{
		{"Pass", "Pass"}, {"word: ", "Password: "}, {"\r", "Password: "}, {"\x1b[K", ""}, {"日\xe6", "日"}, {"\x9c\xac", "日本"}, {"\bx", "日 x"}, {"\n", ""},
	} {
		_, _ = z.Write([]byte(step.in))
		assert.Equal(t, step.want, string(z.Line()), "after %q", step.in)
	}
}

func TestMemoryOfALineIsBounded(t *testing.T) {
	for name, chunk := range map[string]string{
		"no newline":       strings.Repeat("x", 1<<16),
		"wide":             strings.Repeat("語", 1<<14),
		"CRs":              strings.Repeat("\r", 1<<16),
		"bars":             strings.Repeat("\r█████", 1<<12),
		"marks":            strings.Repeat("\u0301", 1<<14),
		"edited marks":     "\rx" + strings.Repeat("\u0301", 1<<14),
		"far to the right": strings.Repeat("\x1b[99999Cx\n", 1<<10),
		"inserts":          "abc\r" + strings.Repeat("\x1b[99999@", 1<<8),
		"escapes":          strings.Repeat("\x1b]0;", 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			z := NewSanitizer(new(discard))
			for range 20 {
				_, _ = z.Write([]byte(chunk))
				require.LessOrEqual(t, len(z.Line()), 2*maxLine+utf8.UTFMax)
				require.LessOrEqual(t, cap(z.line.bytes), 2*maxLine)
				if z.line.cells != nil {
					require.LessOrEqual(t, len(z.line.cells.row), maxLine)
				}
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func FuzzSanitizerSplit(f *testing.F) {
	f.Add("a\x1b[31mb\rc\x1b[K語\b\t\x9b1G\xff", 3, 7)
	f.Add("日本\b\bx\x1b]0;title\ny\x1b[2@\x1b[3P", 1, 2)
	f.Fuzz(func(t *testing.T, s string, i, j int) {
		want := Sanitize(s)
		require.True(t, utf8.ValidString(want))
		for _, r := range want {
			require.False(t, r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0, "control character %q", r)
		}
		if len(s) > 0 {
			i, j = int(uint(i)%uint(len(s))), int(uint(j)%uint(len(s)))
			require.Equal(t, want, sanitizeSplit(s, min(i, j), max(i, j)))
		}
	})
}

// FuzzSanitizerStrip compares with ansi.Strip where the two mean the same:
// text and whole sequences that neither move the cursor nor erase.
func FuzzSanitizerStrip(f *testing.F) {
	f.Add("hello", 1, "語\n")
	f.Fuzz(func(t *testing.T, a string, kind int, b string) {
		sequences := []string{"\x1b[1;31m", "\x1b[0m", "\x1b]0;t\x07", "\x1b]8;;x\x1b\\", "\x1bPq1\x1b\\", "\x1b_x\x1b\\", "\x1b(B", "\x1b[?25l", "\x1b[2J", "\x1b="}
		a, b = printable(a), printable(b)
		s := a + sequences[int(uint(kind)%uint(len(sequences)))] + b
		require.Equal(t, ansi.Strip(s), Sanitize(s))
	})
}

// printable keeps what both take as text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
}

func BenchmarkSanitizer(b *testing.B) {
	for name, raw := range map[string][]byte{
		"plain":    input.BuildLog(64 << 20), // larger than the caches, as real output is
		"coloured": input.ColouredBuild(4 << 20),
		"progress": input.ProgressBar(4 << 20),
		"blocks":   input.BlockBar(4 << 20),
		"cjk":      input.CJK(4 << 20),
		"binary":   input.Binary(4 << 20),
	} {
		b.Run(name+"/sanitizer", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			z := NewSanitizer(discard{})
			for b.Loop() {
				for chunk := range slices.Chunk(raw, 64<<10) {
					_, _ = z.Write(chunk)
				}
			}
		})
		b.Run(name+"/ansi.Strip", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			text := string(raw)
			for b.Loop() {
				_ = ansi.Strip(text)
			}
		})
		b.Run(name+"/copy", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			dst := make([]byte, len(raw))
			for b.Loop() {
				copy(dst, raw)
			}
		})
	}
}
