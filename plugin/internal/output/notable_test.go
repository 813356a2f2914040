package output

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var looksLikeErrors = []string{
	"error: x", "an Error", "FATAL", "panic: y", "java.lang.Exception", "Traceback (most recent call last)", "2 tests failed", "Failure", "undefined: z",
	"cannot open", "Cannot", "E: Unable", "--- FAIL: TestX", "FAIL", "FAIL\tpkg", "exit status 2", "main.go:12: hm", "    x_test.go:5: expected", "a/b.c:1:2: odd",
}

// What a line is that looks like an error: the rest of one, without its beginning, as well.
var (
	looksNotable = regexp.MustCompile(`(?i:error|fatal|panic|exception|traceback|failed|failure|undefined|cannot|exit status)|\bFAIL\b|^E: |^\s*\S+\.\w+:\d+:`)
	restNotable  = regexp.MustCompile(`(?i:error|fatal|panic|exception|traceback|failed|failure|undefined|cannot|exit status)|\bFAIL\b`)
)

func isNotable(line string, begins bool) bool {
	if begins {
		return looksNotable.MatchString(line)
	}
	return restNotable.MatchString(line)
}

// However lines lie in the text, the quick search finds what the expression does.
func TestNotableFindsWhatTheExpressionFinds(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var text strings.Builder
		for range 30 {
			line := strings.Repeat("x ", dice.IntN(20)) + fmt.Sprint(dice.IntN(1000))
			if dice.IntN(3) == 0 {
				line = looksLikeErrors[dice.IntN(len(looksLikeErrors))] + strings.Repeat(" y", dice.IntN(3))
			}
			text.WriteString(line + "\n")
		}
		requireNotable(t, text.String(), dice.IntN(2) == 0)
	}
	for _, line := range looksLikeErrors {
		assert.Equal(t, []int{6}, notableLines([]byte("plain\n"+line+"\n"), true), line)
	}
	assert.Empty(t, notableLines([]byte(":\na plain line:\n12:30:05 time: 7\nE2E: no\n:"), true))
}

func requireNotable(t *testing.T, text string, begins bool) {
	t.Helper()
	var want []int
	start := 0
	for line := range strings.Lines(text) {
		if isNotable(strings.TrimSuffix(line, "\n"), begins || start > 0) {
			want = append(want, start)
		}
		start += len(line)
	}
	require.Equal(t, want, notableLines([]byte(text), begins), "%q", text)
}

func FuzzNotable(f *testing.F) {
	f.Add(strings.Join(looksLikeErrors, "\n"), true)
	f.Add("a.b:1:\n.b:1:\na:.b:12:\na.b:1\na.:1:\n a.b_:1x:\nFAILED xFAIL FAIL_ FAIL\n", false)
	f.Fuzz(func(t *testing.T, text string, begins bool) {
		// The expression knows more letters, and the sanitizer leaves no other blanks.
		text = strings.NewReplacer("\u017f", "s", "\u212a", "k", "\r", "", "\f", "", "\v", "").Replace(text)
		requireNotable(t, text, begins)
	})
}

// Whatever a command writes, the search takes about the time of plain text.
func TestNotableIsQuickWhateverTheTextIs(t *testing.T) {
	quickest := func(text string) time.Duration {
		best := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			notableLines([]byte(text), true)
			best = min(best, time.Since(start))
		}
		return best
	}
	const size = 300_000
	baseline := quickest(strings.Repeat("plain text\n", size/11))
	for _, unit := range []string{"a:1", "a:1\n", "a.b:1", "a.b:1x\n", ":1", "1:", "E:1 ", "fail ", "fail\n", "FAILE ", "error ", "error\n", "x"} {
		assert.Less(t, quickest(strings.Repeat(unit, size/len(unit))), 300*baseline, "%q", unit)
	}
}

func BenchmarkNotable(b *testing.B) {
	text := []byte(strings.Repeat("[  12/9999] Building CXX object src/module_001/CMakeFiles/target.dir/file_00001.cpp.o\n", 10000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		notableLines(text, true)
	}
}
