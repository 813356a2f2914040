package job

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

// A screen shows the same without the lines that scroll away.
func TestLinesThatScrollAway(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	shortened := 0
	for range 300 {
		var before, text strings.Builder
		for range r.IntN(8) {
			before.WriteString(pick(r, "old", "\x1b[9;3H", "\x1b[99;1H", "\r\n\nold old",
				strings.Repeat("wide ", 9), "\x1b[?1049h", "\x1b[?7l", "\x1b[41m", "\x1b[H"))
		}
		before.WriteString(pick(r, "", "\x1b[2;6r\x1b[3;1H", "\x1b[1;7r"))
		for i := range r.IntN(60) {
			fmt.Fprint(&text, pick(r, "", "line ", strings.Repeat("long ", 7),
				"界é", "\t", "over\rwritten", "\x1b[1;31mred\x1b[K\x1b[m"), i, "\r\n")
		}
		text.WriteString(pick(r, "", "prompt? ", "\x1b[5;5Hdrawn"))
		whole, short := newDisplay(t, 20, 8), newDisplay(t, 20, 8)
		whole.all(before.String())
		short.all(before.String())
		part := visible([]byte(text.String()), 8)
		if len(part) < text.Len() {
			shortened++
		}
		require.Equal(t, whole.shown(text.String()), short.shown(string(part)), "%q, %q", before.String(), text.String())
	}
	assert.Greater(t, shortened, 100)
	drawn := strings.Repeat("\x1b[3Hdrawn\r\n", 50)
	assert.Equal(t, drawn, string(visible([]byte(drawn), 8)), "these are no lines")
}

// Bytes that were skipped leave no part of a control sequence behind, wherever they begin
// and end.
func TestSkippedBytes(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 20 {
		d := newDisplay(t, 20, 8)
		var b backlog
		skipped := false
		for !skipped {
			var text strings.Builder
			for range r.IntN(3000) {
				text.WriteString(pick(r, "#", "##\r\n", "\x1b[1;31m", "\x1b[38;2;99;88;77m", "\x1b]0;title\x07",
					"\x1b]8;;http://there\x1b\\", "\x1bPq#0;2;0\x1b\\", "\x1b[7;7H", "\x1b(B"))
			}
			p := text.String()
			for len(p) > 0 {
				n := 1 + r.IntN(min(len(p), 7000))
				skipped = skipped || len(b)+n > backlogSize
				b.put([]byte(p[:n]))
				p = p[n:]
				require.LessOrEqual(t, len(b), backlogSize)
				if r.IntN(100) == 0 && !skipped {
					d.all(string(b.take())) // perhaps the first part of a sequence
				}
			}
		}
		assert.NotRegexp(t, `[^#\s]`, d.shown(string(b.take())))
	}
}
