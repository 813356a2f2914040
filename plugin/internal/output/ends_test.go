package output

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

func TestBothEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		text          string
		ends          int
		head, content string
		mid           bool
		lines         int
	}{
		"whole lines":                    {strings.Repeat("abc\n", 50), 10, "abc\nabc\n", "abc\nabc\n", false, 4},
		"lines that fill an end":         {strings.Repeat("abcd\n", 50), 10, "abcd\nabcd\n", "abcd\nabcd\n", false, 4},
		"half of an end is enough":       {"12345\n" + long + "\n1234\n", 11, "12345\n", "1234\n", false, 2},
		"less is not":                    {"123\n" + long + "\n123\n", 11, "123\nxxxxxxx", "xxxxxx\n123\n", true, 3},
		"one line":                       {long, 10, long[:10], long[:10], true, 1},
		"one line and its newline":       {long + "\n", 10, long[:10], long[:9] + "\n", true, 1},
		"a long line at the beginning":   {long + "\nabc\nabc\n", 10, long[:10], "abc\nabc\n", false, 3},
		"a long line at the end":         {"abc\nabc\n" + long, 10, "abc\nabc\n", long[:10], true, 3},
		"two long lines":                 {long + "\n" + long, 10, long[:10], long[:10], true, 2},
		"runes":                          {strings.Repeat("語", 100), 10, "語語語", "語語語", true, 1},
		"an end without room for a rune": {strings.Repeat("語", 100), 2, "", "", false, 0},
		"a last line without its end":    {strings.Repeat("abc\n", 50) + "ab", 10, "abc\nabc\n", "abc\nabc\nab", false, 5},
		"empty lines":                    {strings.Repeat("\n", 200), 10, strings.Repeat("\n", 10), strings.Repeat("\n", 10), false, 20},
		"of all text together":           {strings.Repeat("abc\n", 30), 60, "", strings.Repeat("abc\n", 30), false, 30},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStream(t, LogsConfig{}, StreamConfig{})
			write(t, s, test.text)
			out := s.Show(shared.Limits{MaxLines: 2, MaxBytes: 2 * test.ends, Ends: test.ends}, View{})
			assert.Equal(t, test.head, out.Head)
			assert.Equal(t, test.content, out.Content)
			assert.Equal(t, test.mid, out.StartsMidLine)
			assert.Equal(t, test.lines, out.OutputLines)
			assert.Equal(t, len(test.head+test.content), out.OutputBytes)
			assert.Equal(t, test.head != "" || test.content == "", out.Truncated)
			assert.False(t, out.LastLinePartial)
		})
	}
}

// What Show keeps are a beginning and an end of what it has to show, at line ends or marked,
// and the counts are of that.
func TestRandomEnds(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		shown := randomLines(dice, dice.IntN(2)*dice.IntN(100))
		write(t, s, shown)
		s.Show(defaults, View{})
		part := randomLines(dice, dice.IntN(dice.IntN(3000)+1))
		write(t, s, part)
		limits := shared.Limits{MaxLines: -1 + 50*dice.IntN(2), MaxBytes: 1 + dice.IntN(5000)}
		limits.Ends = 1 + dice.IntN(limits.MaxBytes)
		requireEnds(t, shown, part, limits, s.Show(limits, View{}))
		require.NoError(t, s.Close())
	}
}

// randomLines ends within a line at times.
func randomLines(dice *rand.Rand, lines int) string {
	var text strings.Builder
	for range lines {
		text.WriteString(strings.Repeat("aé語🐧"[:[]int{1, 3, 6, 10}[dice.IntN(4)]], dice.IntN(6)))
		if dice.IntN(40) == 0 {
			text.WriteString(strings.Repeat("xy", dice.IntN(3000)))
		}
		text.WriteString("\n")
	}
	return text.String()[:max(0, text.Len()-dice.IntN(2))]
}

func requireEnds(t *testing.T, shown, part string, limits shared.Limits, out shared.Output) {
	t.Helper()
	about := fmt.Sprintf("%d bytes after %d, %+v", len(part), len(shown), limits)
	require.Equal(t, len(out.Head)+len(out.Content), out.OutputBytes, about)
	require.EqualValues(t, len(shown+part), out.TotalBytes, about)
	lines := countLines([]byte(part))
	ends := min(limits.Ends, limits.MaxBytes/2)
	fits := len(part) <= limits.MaxBytes && (limits.MaxLines < 0 || lines <= limits.MaxLines)
	if fits || ends > 0 && len(part) <= 2*ends {
		require.Equal(t, part, out.Head+out.Content, about)
		require.False(t, out.Truncated, about)
		require.Equal(t, lines, out.OutputLines, about)
		return
	}
	require.True(t, out.Truncated, about)
	if ends == 0 {
		require.Empty(t, out.Head, about)
		return
	}
	require.True(t, strings.HasPrefix(part, out.Head), about)
	require.True(t, strings.HasSuffix(part, out.Content), about)
	require.LessOrEqual(t, max(len(out.Head), len(out.Content)), ends, about)
	require.True(t, utf8.ValidString(out.Head) && utf8.ValidString(out.Content), about)
	if out.Head != "" && !strings.HasSuffix(out.Head, "\n") {
		require.Less(t, strings.LastIndexByte(out.Head, '\n')+1, max(1, ends/2), about)
		require.Greater(t, len(out.Head), ends-utf8.UTFMax, about)
	}
	before := part[:len(part)-len(out.Content)]
	require.Equal(t, out.Content != "" && !strings.HasSuffix(before, "\n"), out.StartsMidLine, about)
	if out.StartsMidLine {
		_, whole, _ := strings.Cut(out.Content, "\n")
		require.Less(t, len(whole), max(1, ends/2), about)
		require.Greater(t, len(out.Content), ends-utf8.UTFMax, about)
	}
	cut := before[len(out.Head):] // panics if a byte is there twice
	want := countLines([]byte(out.Head)) + countLines([]byte(out.Content))
	if out.StartsMidLine && out.Head != "" && !strings.HasSuffix(out.Head, "\n") && !strings.Contains(cut, "\n") {
		want-- // both are of one line
	}
	require.Equal(t, want, out.OutputLines, about)
}

func TestStreamKeepsBothEnds(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&all, "línea %d\n", i)
	}
	limits := shared.Limits{MaxLines: -1, MaxBytes: 128 << 10, Ends: 4 << 10}
	s := newTestStream(t, LogsConfig{}, StreamConfig{Tail: limits.MaxBytes})
	write(t, s, all.String())
	s.Close()
	out := s.Show(limits, View{})
	assert.True(t, out.Truncated)
	assert.True(t, strings.HasPrefix(all.String(), out.Head))
	assert.True(t, strings.HasSuffix(all.String(), out.Content))
	for _, end := range []string{out.Head, out.Content} {
		assert.True(t, utf8.ValidString(end))
		assert.InDelta(t, limits.Ends, len(end), float64(len("línea 39999\n")))
		assert.True(t, strings.HasPrefix(end, "línea ") && strings.HasSuffix(end, "\n"), "whole lines")
	}
	assert.Equal(t, out.OutputBytes, len(out.Head)+len(out.Content))
	assert.Equal(t, all.String(), logText(t, out))

	all.Reset()
	s = newTestStream(t, LogsConfig{}, StreamConfig{Tail: limits.MaxBytes})
	write(t, s, strings.Repeat("x", limits.MaxBytes))
	out = s.Show(limits, View{})
	assert.False(t, out.Truncated, "exactly the limit")
	assert.Len(t, out.Content, limits.MaxBytes)
	assert.Empty(t, out.Head)
}

// A head that is kept for other limits ends at a rune's end under these.
func TestStreamCutsTheHeadAtARune(t *testing.T) {
	t.Parallel()
	const kept = 10
	for ends := 1; ends < 4*kept; ends++ {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		write(t, s, strings.Repeat("€€€€€€€€€€€€€€€€€€€€\n", 5000))
		out := s.Show(shared.Limits{MaxLines: -1, MaxBytes: 100, Ends: ends}, View{All: true})
		assert.Equal(t, strings.Repeat("€", ends/3), out.Head, ends)
		assert.True(t, utf8.ValidString(out.Content), ends)
		s.Close()
	}
}

// What neither the tail nor the log holds is missing, and the Result says so.
func TestStreamWithBothEndsAndALogThatStopped(t *testing.T) {
	t.Parallel()
	for ends := 1 << 10; ends <= 512<<10; ends *= 2 {
		s := newTestStream(t, LogsConfig{MaxBytes: 1000}, StreamConfig{})
		all := strings.Repeat("línea larga\n", 20000)
		write(t, s, all)
		out := s.Show(shared.Limits{MaxLines: -1, MaxBytes: 1 << 20, Ends: ends}, View{All: true})
		assert.True(t, out.Truncated, ends)
		assert.NotEmpty(t, out.PathError)
		assert.True(t, strings.HasPrefix(all, out.Head))
		assert.True(t, strings.HasSuffix(all, out.Content))
		assert.True(t, utf8.ValidString(out.Content), ends)
		assert.LessOrEqual(t, len(out.Head)+len(out.Content), len(all))
		s.Close()
	}
}

// newSeed returns the seed in the variable SEED, which repeats a run, or a new one.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("SEED=%d", seed)
	return seed
}
