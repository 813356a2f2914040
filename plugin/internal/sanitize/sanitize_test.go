package sanitize

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// String sanitizes s.
func String(s string) string {
	var b bytes.Buffer
	z := New(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

// sanitizeSplit feeds s in chunks that end at the given positions.
func sanitizeSplit(s string, at ...int) string {
	var b bytes.Buffer
	z := New(&b)
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
	require.Equal(t, want, String(s), "whole")
	var each []int
	for i := range len(s) {
		each = append(each, i)
		require.Equal(t, want, sanitizeSplit(s, i), "split at %d", i)
	}
	require.Equal(t, want, sanitizeSplit(s, each...), "byte by byte")
}

// The first cases are those of the check_pid tool, under its names; a lone
// CR does to a line what it does on a terminal.
func TestSanitize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, want string }{
		"passes plain text through unchanged":   {"hello world", "hello world"},
		"strips ANSI color codes":               {"\x1b[31mhello\x1b[0m", "hello"},
		"strips ANSI bold and underline":        {"\x1b[1mbold\x1b[22m", "bold"},
		"preserves tabs and newlines":           {"a\tb\nc", "a\tb\nc"},
		"removes control characters":            {"a\x01b\x02c\x07", "abc"},
		"normalizes CRLF to LF":                 {"a\r\nb\r\n", "a\nb\n"},
		"removes lone CR":                       {"progress 50%\rprogress done", "progress done"},
		"handles empty string":                  {"", ""},
		"handles string with only escape codes": {"\x1b[31m\x1b[0m", ""},
		"strips OSC sequences":                  {"\x1b]0;title\x07text", "text"},
		"handles mixed content":                 {"\x1b[32m✓\x1b[0m test passed\n\x1b[31m✗\x1b[0m test failed\n", "✓ test passed\n✗ test failed\n"},
		"handles realistic compiler output":     {"\x1b[1mmain.go:10:5:\x1b[0m \x1b[31merror:\x1b[0m undefined: foo\n", "main.go:10:5: error: undefined: foo\n"},

		"CR CR LF is LF":          {"a\r\r\nb", "a\nb"},
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
		"edits of characters go":  {"abcdef\x1b[2G\x1b[3X\x1b[3P\x1b[2@x", "axcdef"},
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
		"C1 as a byte":            {"\x9b31mred\x9b0m\x9d0;t\x9cx", "red\uFFFD0;t\uFFFDx"},
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
		"erased twice":            {"abcdef\b\b\x1b[1K\x1b[2Gx\x1b[4G\x1b[1Ky", "   y f"},
		"a mark on an erased one": {"abcdef\b\b\x1b[1K\x1b[2G\u0301\x1b[4G\x1b[1Kx", "   x f"},
		"a mark after a move":     {"ab\x1b[1Ga\u0301", "a\u0301b"},
		"blocks of a bar":         {"\r██░░ 50%\r████ 99%\n", "████ 99%\n"},
		"a tab overwritten":       {"a\tb\r\x1b[3Gx", "a x     b"},
		"a tab over text":         {"abcdefghij\r\tX", "abcdefghXj"},
		"a tab at the end":        {"é\rx\ty", "x\ty"},
		"DEL goes":                {"a\x7fb", "ab"},
		"VT and FF are newlines":  {"a\vb\fc\x00d", "a\nb\ncd"},
		"CR VT is VT":             {"abc\r\vd\r\fe", "abc\nd\ne"},
		"VT after an edit":        {"abc\rX\vd\re\ff", "Xbc\ne\nf"},
		"VT in a sequence":        {"a\x1b[3\v1mb\x1b[\f1mc", "a\nb\nc"},
		"VT in a string":          {"a\x1b]0;b\v\fc\x07d\x1bP\v\x1b\\e", "ade"},
		"emoji":                   {"👍 ok\n", "👍 ok\n"},
		"a tab after an edit":     {"ab\rcd\te", "cd\te"},
		"tab stops count columns": {"日\tx\r\x1b[9Gy", "日\ty"},
		"within a tab":            {"\tb\rX", "X       b"},
		"CR CR":                   {"abc\r\rX", "Xbc"},
		"CRLF after an edit":      {"abc\rX\r\nd", "Xbc\nd"},
		"erased at the end":       {"abcdef\x1b[3D\x1b[K", "abc"},
		"erased, then moved over": {"abc\x1b[2K\x1b[5Cx", "        x"},
		"blanks are no text":      {"a\x1b[5Cb\x1b[4G\x1b[K", "a"},
		"written spaces are":      {"ab  \x1b[K", "ab  "},
		"moved right only":        {"ab\x1b[5C\n", "ab\n"},
		"far right":               {"\x1b[999999999999Cx\x1b[2K\rok", "ok"},
		"past all parameters":     {"abc\x1b[2;7;9Dx", "axc"},
		"no first parameter":      {"abc\x1b[;7Dx", "abx"},
		"zero is one":             {"abc\x1b[0Dx", "abx"},
		"half of the last rune":   {"日\ra", "a "},
		"a wide rune over halves": {"日本語\r\x1b[C語", " 語 語"},
		"cursor within, no text":  {"日本\b\r\n", "日本\n"},
		"erase goes with marks":   {"e\u0301e\u0301\x1b[D\x1b[K", "e\u0301"},
		"back over a mark":        {"ae\u0301\bx", "ax"},
		"joined emoji":            {"👩\u200d💻!\n", "👩\u200d💻!\n"},
		"DCS cut by a newline":    {"\x1bP1;2\nfoo", "\nfoo"},
		"APC with runes":          {"\x1b_日本\x1b\\a", "a"},
		"OSC with a raw ST":       {"\x1b]0;t\x9cu\x07a", "a"},
		"OSC with a rune's ST":    {"\x1b]0;本\x07a", "a"},
		"OSC with a broken rune":  {"\x1b]0;\xe6\x07a", "a"},
		"OSC with ST as UTF-8":    {"\x1b]0;t\u009ca", "a"},
		"OSC cut by CAN":          {"\x1b]0;t\x18a", "a"},
		"OSC with raw C1":         {"\x1b]0;\x9b1m\x07a", "a"},
		"a rune ends a sequence":  {"\x1b[3日", "日"},
		"CSI cut by a raw CSI":    {"\x1b[3\x9b1ma", "a"},
		"CSI cut by a byte":       {"\x1b[3\xffa", "\uFFFDa"},
		"CR within a sequence":    {"abc\x1b[1\rmX", "Xbc"},
		"intermediates":           {"abc\x1b[2 Dx\x1b[!p", "abcx"},
		"subparameters":           {"\x1b[4:3ma\x1b[38:2::1:2:3mb", "ab"},
		"ESC ends nothing":        {"a\x1b", "a"},
		"raw C1 without a string": {"a\x85b\x9cc", "a\uFFFDb\uFFFDc"},
		"an old encoding":         {"u\x9eivatel\x9d: \x90ok\nnext\n", "u\uFFFDivatel\uFFFD: \uFFFDok\nnext\n"},
		"a raw CSI after an edit": {"a\rb\x9b2Cc\xffd", "b  c\uFFFDd"},
		"a raw CSI among others":  {"\xfe\x9b1m\xff\x9b1m", "\uFFFD\uFFFD"},
		"too high":                {"\xf4\xa0\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
		"two starts of runes":     {"\xe6\xe7\x9cx", "\uFFFD\uFFFDx"},
		"the last code point":     {"\U0010ffff\ue000\u07ff", "\U0010ffff\ue000\u07ff"},
	} {
		t.Run(name, func(t *testing.T) { requireEverySplit(t, test.want, test.in) })
	}
	t.Run("handles large input efficiently", func(t *testing.T) {
		text := strings.Repeat("x", 1000)
		assert.Equal(t, strings.Repeat(text+"\n", 1000), String(strings.Repeat("\x1b[32m"+text+"\x1b[0m\n", 1000)))
	})
}

func TestAnEscapeThatEndsIsSwallowed(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	for _, kind := range []struct{ begin, unit, end string }{
		{"\x1b]52;c;", "QUJD", "\a"}, {"\x1b]52;c;", "QUJD", "\x1b\\"}, {"\u009d0;", "日本", "\u009c"}, // clipboard, title
		{"\x1b_Ga=T;", "QUJD", "\x1b\\"}, {"\x1bPq", "#0~-\v\f", "\x1b\\"}, {"\u009fG", "x", "\u009c"}, // images
		{"\x1b^", "x", "\x1b\\"}, {"\x1bX", "\a\r", "\x18"},
		{"\x1b[", "38;5;1;", "m"}, {"\x1b[", "1", "m"}, {"\x9b", "1", "q"}, {"\x1b(", " ", "B"},
	} {
		most := maxEscape - len(kind.begin) - len(kind.end)
		for _, size := range []int{4096, 4097, random.IntN(most), most} {
			body := strings.Repeat(kind.unit, size/len(kind.unit))
			in := "one" + kind.begin + body + kind.end + "two\n"
			cuts := []int{random.IntN(len(in)), random.IntN(len(in)), random.IntN(len(in))}
			slices.Sort(cuts)
			for _, at := range [][]int{nil, cuts} {
				require.Equal(t, "onetwo\n", sanitizeSplit(in, at...), "%q and %d times %q, split at %d", kind.begin, size/len(kind.unit), kind.unit, at)
			}
		}
	}
}

func TestAColourThatIsTooLong(t *testing.T) {
	t.Parallel()
	in := "\x1b[" + strings.Repeat("1", maxEscape-2) + "m"
	assert.Equal(t, "m", String(in))
	assert.Equal(t, "m", sanitizeSplit(in, 2))
	assert.Equal(t, "", String(in[:maxEscape-1]+"m"))
}

func TestAnEscapeThatNeverEndsDoesNotSwallowTheRest(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b[", "\x1b[1;", "\x9b"} {
		text := strings.Repeat("0", maxEscape+100_000)
		got := String(start + text)
		assert.Greater(t, len(got), len(text)-maxEscape-1, "after %q", start)
		for _, split := range []int{maxEscape - 1, maxEscape + 1} {
			assert.True(t, got == sanitizeSplit(start+text, split), "%q split at %d", start, split)
		}

		lines := strings.Repeat(strings.Repeat("0", 79)+"\n", 1000)
		got = String(start + lines)
		assert.Greater(t, len(strings.TrimLeft(got, "\n")), len(lines)-maxControl-2*80, "lines after %q", start)
		for _, split := range []int{1, 4095, 4096, 4097, 5000} {
			assert.True(t, got == sanitizeSplit(start+lines, split), "lines after %q split at %d", start, split)
		}
	}
}

func TestDroppedCountsWhatIsNoText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"plain\ttext\n語":           0,
		"CRLF\r\nCRLF\r\n":         0,
		"CR CR LF\r\r\n":           1,
		"50%\r60%\n":               1,
		"50%\r60%\r\n":             1,
		"\x00\x00\x00a\a\b":        5,
		"\x1b[1mbold\x1b[m":        7,
		"\x1b[1\nm":                4,
		"\x1b[1\r\nm":              4,
		"\x1b[1\rCx":               5,
		"a\r\x1b[1m\nb":            4,
		"a\r\x1b[1m\x1b[mb":        8,
		"VT\v and FF\f\r\v\r\f":    0,
		"\x1b[1\vm\x1bPa\vb\x1b\\": 11,
		"\x9b1m\u009b1m\u0085":     9,
		"\x1b]0;title\x1b\\":       11,
		"\x1b]0;日本\x07":            11,
		"\x1b]0;a\u009cb":          7,
		"\x1b]0;never ended\n":     15,
		"\xff\xfe\xe6 no UTF-8":    0,
	} {
		for size := 1; size <= len(in); size++ {
			z := New(discard{})
			for chunk := range slices.Chunk([]byte(in), size) {
				_, _ = z.Write(chunk)
			}
			assert.Equal(t, want, z.Dropped(), "%q in chunks of %d", in, size)
		}
	}
}

func TestLineIsWhatATerminalShowsNow(t *testing.T) {
	t.Parallel()
	z := New(new(bytes.Buffer))
	for _, step := range []struct{ in, want string }{
		{"Pass", "Pass"}, {"word: ", "Password: "}, {"\r", "Password: "}, {"\x1b[K", ""}, {"日\xe6", "日"}, {"\x9c\xac", "日本"}, {"\bx", "日 x"}, {"\n", ""},
	} {
		_, _ = z.Write([]byte(step.in))
		assert.Equal(t, step.want, string(z.Line()), "after %q", step.in)
	}
}

func TestTheFrontOfALongLineIsHandedOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, want string }{
		"as it is":          {strings.Repeat("x", 5*maxLine), strings.Repeat("x", 5*maxLine)},
		"runes whole":       {"x" + strings.Repeat("語", maxLine), "x" + strings.Repeat("語", maxLine)},
		"up to maxLine":     {strings.Repeat("x", maxLine) + "\rY", "Y" + strings.Repeat("x", maxLine-1)},
		"past maxLine":      {strings.Repeat("x", maxLine+1) + "\rY", strings.Repeat("x", maxLine/2) + "Y" + strings.Repeat("x", maxLine/2)},
		"to a column":       {strings.Repeat("x", maxLine+1) + "\x1b[1GY\x1b[101GZ", strings.Repeat("x", maxLine/2) + "Y" + strings.Repeat("x", 99) + "Z" + strings.Repeat("x", maxLine/2-100)},
		"erased":            {strings.Repeat("x", maxLine+1) + "\x1b[2K\rdone", strings.Repeat("x", maxLine/2) + "done"},
		"edited":            {strings.Repeat("x", maxLine-2) + "\x1b[4Dé日\n", strings.Repeat("x", maxLine-6) + "é日x\n"},
		"erased, longer":    {strings.Repeat("x", maxLine-2) + "\b\b\x1b[1K\x1b[65536G" + strings.Repeat("y", 10) + "\b\b\x1b[1K", strings.Repeat(" ", maxLine+7) + "y"},
		"erased at its end": {strings.Repeat("x", maxLine-5537) + "\b" + strings.Repeat("x", 5538) + "\x1b[1Ky", strings.Repeat(" ", maxLine) + "y"},
		"erased behind it":  {strings.Repeat("x", maxLine) + "\b\x1b[C\x1b[2K\u0301", strings.Repeat(" ", maxLine) + "\u0301"},
		"in edited text":    {strings.Repeat("x", maxLine) + "\r" + strings.Repeat("語", maxLine/4), strings.Repeat("語", maxLine/4) + strings.Repeat("x", maxLine/2)},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, String(test.in) == test.want, "whole")
			for _, size := range []int{997, 4096, 60_001} {
				require.True(t, sanitizeChunks(test.in, size) == test.want, "in chunks of %d", size)
			}
		})
	}
}

func sanitizeChunks(s string, size int) string {
	var at []int
	for i := size; i < len(s); i += size {
		at = append(at, i)
	}
	return sanitizeSplit(s, at...)
}

// What edits cost is paid for with text. If there is too little, nothing is lost.
func TestEditsThatNothingPaysFor(t *testing.T) {
	t.Parallel()
	erase := "\rx\x1b[30000G\x1b[1K" // erases 30,000 columns
	paid := maxCredit / 30_000       // so many times
	text := strings.Repeat("x", 60_000)
	for name, test := range map[string]struct{ in, want string }{
		"erased as often as is paid for": {text + strings.Repeat(erase, paid) + "\n", strings.Repeat(" ", 30_000) + text[:30_000] + "\n"},
		"erased once more":               {text + strings.Repeat(erase, paid+1) + "\n", "x" + strings.Repeat(" ", 29_999) + text[:30_000] + "\n"},
		"text pays again":                {text + strings.Repeat(erase, paid) + "\n" + text + erase + "\n", strings.Repeat(" ", 30_000) + text[:30_000] + "\n" + strings.Repeat(" ", 30_000) + text[:30_000] + "\n"},
		"erasing blanks costs nothing":   {text + "\b\b" + strings.Repeat("\x1b[1K", 10_000) + "y", strings.Repeat(" ", 59_998) + "yx"},
		"a terminal's columns are free":  {text[:500] + strings.Repeat("\rx\x1b[400G\x1b[1K", 10_000), strings.Repeat(" ", 400) + text[:100]},
		"lines of a table":               {strings.Repeat("name\x1b[60Gvalue\n", 20_000), strings.Repeat("name"+strings.Repeat(" ", 55)+"value\n", 20_000)},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, String(test.in) == test.want, "whole")
			for _, size := range []int{97, 997, 60_001} {
				require.True(t, sanitizeChunks(test.in, size) == test.want, "in chunks of %d", size)
			}
		})
	}
	t.Run("blanks before the cursor", func(t *testing.T) {
		in := strings.Repeat("x\x1b[512Gy\n", 50_000)
		got := String(in)
		require.Less(t, len(got), maxCredit+(columnsPerByte+1)*len(in)/4)
		require.Equal(t, in, strings.NewReplacer(" ", "", "y", "\x1b[512Gy").Replace(got), "no text is lost")
		require.True(t, got == sanitizeChunks(in, 997))
	})
}

// Whatever is written behind a line that was erased at the limit.
func TestEditsAtTheLimitOfALine(t *testing.T) {
	t.Parallel()
	for fill, width := range map[string]int{"x": 1, "語": 2, "\t": tabStop} {
		for _, columns := range []int{maxLine, maxLine + 1} {
			text := strings.Repeat("x", columns%width) + strings.Repeat(fill, columns/width)
			for _, edit := range []string{"\x1b[1K", "\x1b[2K"} {
				for _, next := range []string{"x", "語", "\u0301", "\x1b[C\x1b[1Ky"} {
					in := text + "\b\x1b[C" + edit + next + "z"
					want := String(in)
					require.True(t, utf8.ValidString(want))
					require.True(t, want == sanitizeSplit(in, len(text), len(in)-2), "%d columns of %q, then %q and %q", columns, fill, edit, next)
				}
			}
		}
	}
}

// What is finished at the bound must not depend on the chunks either.
func TestChunksDoNotMatterAtTheBound(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2 {
		var raw strings.Builder
		for raw.Len() < 3*maxLine {
			next := randomStep(random)
			raw.WriteString(strings.Repeat(next.raw, 1+random.IntN(4)*random.IntN(2000)))
		}
		want := String(raw.String())
		require.True(t, utf8.ValidString(want))
		for _, size := range []int{500 + random.IntN(500), 1000 + random.IntN(9000), 30_000 + random.IntN(60_000)} {
			got := sanitizeChunks(raw.String(), size)
			require.True(t, want == got, "in chunks of %d", size)
		}
	}
}

func TestMemoryOfALineIsBounded(t *testing.T) {
	t.Parallel()
	for name, chunk := range map[string]string{
		"no newline":       strings.Repeat("x", 1<<16),
		"wide":             strings.Repeat("語", 1<<14),
		"CRs":              strings.Repeat("\r", 1<<16),
		"bars":             strings.Repeat("\r█████", 1<<12),
		"marks":            strings.Repeat("\u0301", 1<<14),
		"edited marks":     "\rx" + strings.Repeat("\u0301", 1<<14),
		"far to the right": strings.Repeat("\x1b[99999Cx", 1<<10),
		"a long line":      strings.Repeat("x", maxLine) + "\r" + strings.Repeat("\x1b[3Cy", 1<<4),
		"tabs":             strings.Repeat("\t", 1<<15) + "\x1b[5D\x1b[1K\rx",
		"erased tabs":      strings.Repeat("\t", 1<<15) + "\rx\x1b[60000G\x1b[1Ky",
		"backspaces":       strings.Repeat("日本\b\b\b", 1<<12),
		"escapes":          strings.Repeat("\x1b]0;", 1<<14),
		"no ST":            "\x1bP" + strings.Repeat("q", 1<<16),
		"parameters":       "\x1b[" + strings.Repeat("1;", 1<<15),
		"broken runes":     strings.Repeat("\xe6\x9c", 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			z := New(discard{})
			for range 20 {
				_, _ = z.Write([]byte(chunk))
				_ = z.Line()
				require.LessOrEqual(t, memory(z), maxMemory)
			}
		})
	}
}

func TestASanitizerAtRestIsSmall(t *testing.T) {
	t.Parallel()
	z := New(discard{})
	assert.Zero(t, memory(z))
	_, _ = z.Write([]byte(strings.Repeat("x", 3*maxLine) + "\rab\x1b[40000G語\nshort\rS"))
	_, _ = z.Write([]byte("\n"))
	assert.LessOrEqual(t, memory(z), 2*retained)
}

// maxMemory is what a Sanitizer may hold between two Writes.
const maxMemory = 1400 << 10

// memory returns the size of the buffers.
func memory(z *Sanitizer) int {
	return cap(z.line.buf) + cellSize*cap(z.line.cells)
}

func TestNoLineAllocates(t *testing.T) { // not parallel: it measures
	for name, line := range map[string]string{
		"plain":    "a line\tof a build log\n",
		"coloured": "\x1b[1mfile.c:\x1b[m\x1b[K \x1b[35mwarning\x1b[0m\n",
		"bar":      "\r[####    ] 50%\r[#####   ] 60%\n",
		"blocks":   "\r━━━━╸    50%\r━━━━━━   60%\n",
		"emoji":    "\r👍👍👍 e\u0301\b\b\r👍 ok\n",
		"edits":    "abc\tdef\r\x1b[3Cx\x1b[1K\n",
		"title":    "\x1b]0;日本\x07\xff\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			z := New(discard{})
			chunk := []byte(strings.Repeat(line, 100))
			assert.Zero(t, testing.AllocsPerRun(10, func() { _, _ = z.Write(chunk); _ = z.Line() }))
		})
	}
}

// The sink gets whole lines, and never part of a rune.
func TestWhatIsHandedOnEndsWithARune(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("語é\U0001f44d x\r日\n", 20) + strings.Repeat("語é\U0001f44d", maxLine/4) + "\n"
	for _, size := range []int{97, 4096, 40_000, len(text)} {
		z := New(validText{t})
		for p := []byte(text); len(p) > 0; p = p[min(size, len(p)):] {
			_, _ = z.Write(p[:min(size, len(p))])
			require.True(t, utf8.Valid(z.Line()))
		}
	}
}

type validText struct{ t *testing.T }

func (v validText) Write(p []byte) (int, error) {
	require.True(v.t, utf8.Valid(p))
	require.NotEmpty(v.t, p)
	return len(p), nil
}

// What looks at eight bytes at a time finds what a plain loop finds.
func TestScansAreExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	alphabet := []string{"a", " ", "~", "\x7f", "\x1f", "\t", "\n", "\r", "\x00", "\x0b", "\x08", "\x80", "\x9b", "\xff", "\u0085", "\u00a0", "é", "語", "\ufffd", "\U0001f44d", "\xe0\x80\x80", "\xed\xa0\x80", "\xe6\x9c"}
	for range 10_000 {
		dirt := 1 + random.IntN(len(alphabet))
		var b []byte
		for range random.IntN(80) {
			if random.IntN(9) == 0 {
				b = append(b, alphabet[random.IntN(dirt)]...)
			} else {
				b = append(b, 'x')
			}
		}
		clean := 0
		for clean < len(b) {
			r, size := utf8.DecodeRune(b[clean:])
			space := r == '\n' || r == '\t'
			if unicode.IsControl(r) && !space || r == utf8.RuneError && size == 1 {
				break
			}
			clean += size
		}
		require.Equal(t, clean, cleanPrefix(b), "%q", b)
	}
}

func TestRuneWidth(t *testing.T) {
	t.Parallel()
	for r := rune(0xa0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		if want, got := ansi.StringWidthWc(string(r)), width(r, []byte(string(r))); got != want {
			t.Errorf("%U: %d, want %d", r, got, want)
		}
	}
}

// seeded returns random numbers that begin with SEED, or with the time.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "SEED")
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
