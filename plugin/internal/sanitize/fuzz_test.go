package sanitize

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

func FuzzSanitizerSplit(f *testing.F) {
	f.Add("a\x1b[31mb\rc\x1b[K語\b\t\x9b1G\xff", 3, 7)
	f.Add("日本\b\bx\x1b]0;title\ny\x1b[1K\x1b[3D", 1, 2)
	f.Add("00000\xac\b00000\n0", 1, 67)
	f.Add("\t\t日\r\x1b[9C\x1b[1Ke\u0301\x1bP1\x9c\xe6\x9c\x1b[2K\u009b3D", 5, 9)
	f.Fuzz(func(t *testing.T, s string, i, j int) {
		want := String(s)
		require.True(t, utf8.ValidString(want))
		for _, r := range want {
			require.False(t, r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0, "control character %q", r)
		}
		if len(s) > 0 {
			i, j = int(uint(i)%uint(len(s))), int(uint(j)%uint(len(s)))
			i, j = min(i, j), max(i, j)
			require.Equal(t, want, sanitizeSplit(s, i, j))
		}
	})
}

// FuzzSanitizerProgram reaches the bounds that are too far for FuzzSanitizerSplit.
func FuzzSanitizerProgram(f *testing.F) {
	f.Add([]byte("\x00\x09\x00\x18\x01\xff\x00\x00\x00"), uint64(1))
	f.Add([]byte("\x00\x08\x00\x14\x09\x00\x1a\x03\x00\x03\x09\x00\x19\x03\x00"), uint64(2))
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		requireProgram(t, newProgram(code), rand.New(rand.NewPCG(seed, 0)))
	})
}

// FuzzSanitizerStrip compares with ansi.Strip where the two mean the same:
// text and whole sequences that neither move the cursor nor erase. Each byte of
// picks puts a sequence behind so many runes.
func FuzzSanitizerStrip(f *testing.F) {
	sequences := []string{
		"\x1b[1;31m", "\x1b[m", "\x1b[38:5:1m", "\x1b[?25l", "\x1b[2J", "\x1b[3;4H", "\x1b[!p", "\x1b[2 q", "\x1b[K",
		"\x1b]0;t\x07", "\x1b]8;;http://x\x1b\\", "\x1bPq1;2\x1b\\", "\x1b_x\x1b\\", "\x1b^\x1b\\", "\x1bXs\x1b\\",
		"\x1b(B", "\x1b#8", "\x1b=", "\x1b7", "\x1b[1\x18", "\x1b[1\x1b[2m", "\x9b1m",
	}
	f.Add("hello 語\n", []byte{1, 34, 67})
	f.Add("日本\t\nx", []byte("\x00\x21\xff"))
	f.Fuzz(func(t *testing.T, text string, picks []byte) {
		var b strings.Builder
		runes := []rune(printable(text))
		for _, pick := range picks {
			n := min(int(pick>>5), len(runes))
			b.WriteString(string(runes[:n]))
			b.WriteString(sequences[int(pick)%len(sequences)])
			runes = runes[n:]
		}
		b.WriteString(string(runes))
		require.Equal(t, printable(ansi.Strip(b.String())), String(b.String()))
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
