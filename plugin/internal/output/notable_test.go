package output

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

var notableLines = []string{
	"error: x", "an Error", "FATAL", "panic: y", "java.lang.Exception", "Traceback (most recent call last)", "2 tests failed", "Failure", "undefined: z",
	"cannot open", "Cannot", "E: Unable", "--- FAIL: TestX", "FAIL", "FAIL\tpkg", "exit status 2", "main.go:12: hm", "    x_test.go:5: expected", "a/b.c:1:2: odd",
}

// However lines lie in the text, the quick search finds what the expression does.
func TestNotableFindsWhatTheExpressionFinds(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var text strings.Builder
		var want []shared.Line
		for number := range int64(30) {
			line := strings.Repeat("x ", dice.IntN(20)) + fmt.Sprint(dice.IntN(1000))
			if dice.IntN(3) == 0 {
				line = notableLines[dice.IntN(len(notableLines))] + strings.Repeat(" y", dice.IntN(3))
			}
			if looksNotable.MatchString(line) {
				want = append(want, shared.Line{Number: number + 1, Text: line})
			}
			text.WriteString(line + "\n")
		}
		got := findNotable([]byte(text.String()), 1)
		require.Equal(t, want, got, text.String())
	}
	for _, line := range notableLines {
		assert.Len(t, findNotable([]byte("plain\n"+line+"\n"), 1), 1, line)
	}
	assert.Empty(t, findNotable([]byte(":\na plain line:\n12:30:05 time: 7\nE2E: no\n:"), 1))
	assert.Len(t, findNotable([]byte("an error: "+strings.Repeat("é", 1000)), 1)[0].Text, 500)
}

func BenchmarkNotable(b *testing.B) {
	text := []byte(strings.Repeat("[  12/9999] Building CXX object src/module_001/CMakeFiles/target.dir/file_00001.cpp.o\n", 10000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		findNotable(text, 1)
	}
}
