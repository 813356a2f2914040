package sanitize

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// program is terminal output that is written by a few bytes, so that a fuzzer reaches every
// bound: each operation is a byte for what, one for how often or how far, and one that is
// added to that.
type program struct {
	raw    bytes.Buffer
	want   strings.Builder // the text, if nothing edits
	edited bool
}

const maxProgram = 3 << 20

// lengths are those of the bounds; most are used often.
var lengths = []int{1, 2, 8, 80, maxColumn, maxControl, handOver, maxLine / 2, maxLine, maxLine, maxLine, maxEscape}

func newProgram(code []byte) *program {
	p := new(program)
	for ; len(code) >= 3 && p.raw.Len() < maxProgram; code = code[3:] {
		n := lengths[int(code[1])%len(lengths)] + int(int8(code[2]))/8
		p.operation(int(code[0]), max(n, 0))
	}
	return p
}

// operation adds an operation to the program.
func (p *program) operation(what, n int) {
	text := func(raw, shown string, most int) {
		n = min(n, most)
		p.raw.WriteString(strings.Repeat(raw, n))
		p.want.WriteString(strings.Repeat(shown, n))
	}
	edit := func(format string, args ...any) {
		p.edited = true
		fmt.Fprintf(&p.raw, format, args...)
	}
	switch what % 32 {
	case 0, 1, 2:
		text("x", "x", 2*maxLine)
	case 3:
		text("語", "語", 2*maxLine)
	case 4:
		text("\t", "\t", maxLine)
	case 5:
		text("e\u0301", "e\u0301", maxLine)
	case 6:
		text("\xff", "\uFFFD", 2*maxLine)
	case 7:
		text("\n", "\n", 2)
	case 8:
		text("\r\n", "\n", 2)
	case 9:
		text("\v\r\f", "\n\n", 2)
	case 10:
		text("\x1b[1;31m", "", 80)
	case 11:
		p.raw.WriteString("\x1b]52;c;" + strings.Repeat("0", min(n, maxEscape-20)) + "\a")
	case 12:
		p.raw.WriteString("\x1b_G" + strings.Repeat("日\v", min(n, maxEscape-20)/4) + "\x1b\\")
	case 13:
		p.raw.WriteString("\u0090q" + strings.Repeat("0", min(n, maxEscape-20)) + "\u009c")
	case 14:
		p.raw.WriteString("\x1b]0;title\n")
		p.want.WriteString("\n")
	case 15:
		edit("\x1b[%s", strings.Repeat("1;", n)) // perhaps without an end
	case 16:
		edit("\x1b_%s", strings.Repeat("x", n))
	case 17, 18:
		edit("\r")
	case 19:
		edit("%s", strings.Repeat("\b", min(n, 80)))
	case 20:
		edit("\x1b[%dG", n)
	case 21:
		edit("\x1b[%dC", n)
	case 22:
		edit("\x1b[%dD", n)
	case 23, 24:
		edit("\x1b[%dK", n%3)
	case 25, 26:
		edit("\b\x1b[C\x1b[%dK", 1+n%2)
	case 27:
		edit("\x1b[65536G\b\b\x1b[1K")
	case 28:
		edit("%s", strings.Repeat("\x1b[1K\x1b[D", n%64))
	case 29:
		edit("%s", strings.Repeat("\r\u0301x\x1b[65536G\x1b[1K", n%64))
	case 30:
		edit("\x9b%d\nK", n%3)
	case 31:
		edit("\r\x1b[m")
	}
}

// sanitized is what becomes of a stream.
type sanitized struct {
	text, line string // line as it was before the Close
	dropped    int64
}

// run sanitizes raw in chunks whose sizes next returns.
func run(t *testing.T, raw []byte, next func() int) sanitized {
	t.Helper()
	var b bytes.Buffer
	z := New(&b)
	for len(raw) > 0 {
		n := min(next(), len(raw))
		_, _ = z.Write(raw[:n])
		raw = raw[n:]
		if memory(z) > maxMemory {
			require.LessOrEqual(t, memory(z), maxMemory)
		}
	}
	line := string(z.Line())
	_ = z.Close()
	return sanitized{b.String(), line, z.Dropped()}
}

// Whatever a program does at the bounds of a line or of an escape sequence.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	for begin := time.Now(); time.Since(begin) < 1500*time.Millisecond; {
		code := make([]byte, 3*(1+random.IntN(16)))
		for i := range code {
			code[i] = byte(random.Uint32())
		}
		requireProgram(t, newProgram(code), random)
	}
}

// requireProgram checks all that is promised of the sanitizer's output.
func requireProgram(t *testing.T, p *program, random *rand.Rand) {
	t.Helper()
	raw := p.raw.Bytes()
	whole := run(t, raw, func() int { return len(raw) })
	require.True(t, utf8.ValidString(whole.text))
	i := strings.IndexFunc(whole.text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	require.Negative(t, i, "a control character")
	if !p.edited {
		require.True(t, p.want.String() == whole.text, "no byte of the text is lost")
		require.True(t, strings.HasSuffix(whole.text, whole.line))
	}
	if len(raw) < 10_000 {
		require.True(t, whole == run(t, raw, func() int { return 1 }), "byte by byte")
	}
	most := 1 + len(raw)/(1+random.IntN(2000))
	require.True(t, whole == run(t, raw, func() int { return 1 + random.IntN(most) }), "in chunks of up to %d", most)
}
