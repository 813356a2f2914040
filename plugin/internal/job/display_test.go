package job

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seeded returns random numbers whose seed is logged, or taken from SCREEN_SEED.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("SCREEN_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SCREEN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func newDisplay(t *testing.T, columns, rows int) *display {
	t.Helper()
	d := &display{columns: columns, rows: rows, answer: func(string) {}}
	d.open()
	t.Cleanup(d.close)
	return d
}

// all draws everything.
func (d *display) all(text string) {
	for left := []byte(text); len(left) > 0; {
		left = d.draw(left, time.Now().Add(guard))
	}
}

// shown draws everything and returns what the terminal shows then.
func (d *display) shown(parts ...string) string {
	for _, part := range parts {
		d.all(part)
	}
	return d.text()
}

func TestADisplayShowsText(t *testing.T) {
	t.Parallel()
	for drawn, want := range map[string]string{
		"one\r\n\x1b[31mtwo\x1b[m":                              "one\ntwo",
		"\x1b]0;✳ title with 本\x07a\u009b1mb":                   "a1mb", // no control characters, and nothing of a title
		"\x1b_Gf=100;" + strings.Repeat("A", 9999) + "\x1b\\ok": "ok",
		"A\x1b[00000000000000000003bB":                          "AB", // no program writes so
		"\x1b[9999;9999Hx\x1b[Hy":                               "y\n\n\n         x",
		"👩🏻‍❤️‍💋‍👩🏻é界":                                          "👩🏻‍❤️‍💋‍👩🏻é界",
		"\xffa\xc3":                       "a",
		"lost\x1b[1;99r\x1b[Snew":         "new", // the emulator fails: the screen begins anew
		"\x1b[?1049hother\x1b[?1049lmain": "main",
	} {
		assert.Equal(t, want, newDisplay(t, 10, 4).shown(drawn), "%q", drawn)
	}
}

// An answer that fails ends neither the display nor the emulator's drawing.
func TestADisplayThatIsAsked(t *testing.T) {
	t.Parallel()
	var answers strings.Builder
	d := &display{columns: 10, rows: 4, answer: func(text string) { answers.WriteString(text) }}
	d.open()
	d.shown(strings.Repeat("\x1b[6n", 1000))
	d.close()
	assert.Equal(t, strings.Repeat("\x1b[1;1R", 1000), answers.String())
	d = &display{columns: 10, rows: 4, answer: func(string) { panic("no") }}
	d.open()
	assert.Equal(t, "ok", d.shown(strings.Repeat("\x1b[6n\x1b[c", 1000), "ok"))
	d.close()
}

// Whatever is drawn, a display takes little more memory than its cells.
func TestTheMemoryOfADisplay(t *testing.T) {
	const columns, rows = 60, 30
	d := newDisplay(t, columns, rows)
	before := heap()
	for name, draw := range map[string]func(i int) string{
		"links":   func(i int) string { return fmt.Sprintf("\x1b]8;;%02000d\x07x", i) },
		"colours": func(i int) string { return fmt.Sprintf("\x1b[38;2;%d;48;2;%d;58;2;%dmx", i%256, i/256, i%100) },
		"accents": func(int) string { return "界" + strings.Repeat("\u0301", 700) },
		"letters": func(i int) string { return fmt.Sprintf("\x1b[?7l%s\x1b[100D\x1b[P", strings.Repeat("é", 500)) },
		"modes":   func(i int) string { return fmt.Sprintf("\x1b[?%d;5%dh\x1b[%dh", i, i, i) },
		"titles":  func(int) string { return "\x1b]0;" + strings.Repeat("title", 300) },
	} {
		d.all("\x1b[?7h\x1b[?1049l")
		for range 2 {
			for i := range columns * rows {
				d.all(draw(i))
			}
			d.all("\x1b[?1049h")
		}
		grown := heap() - before
		t.Logf("%s: %d KiB more", name, grown>>10)
		assert.Less(t, grown, 3<<19, name)
	}
}

func heap() int {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int(now.HeapAlloc)
}

// FuzzFilter checks that the filter knows the state of a parser that gets what it passes,
// and how long numbers and strings are then.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b[65535b\x1b[1;99999999;3:44444H\x9b123456789h"))
	f.Add([]byte("\x1b]0;title\x07\x1b]8;;http://x\x1b\\\x1bPq\x1b[1m\x1b\\\x1b_G本\x9c\x1b^\x98\x18"))
	f.Add([]byte("\xe6\x9c\xac\xf0\x9f\x91\xa9\xc3\x1b\xe0\x1b[\x0512345\x7f6$p\x1bP\x1b[99999\x08"))
	f.Add([]byte("\x1b]" + strings.Repeat("\x0012345678", 100) + "\x1b\\\x1b[" + strings.Repeat("5;", 100) + "m"))
	f.Fuzz(func(t *testing.T, p []byte) {
		mirror := ansi.NewParser()
		mirror.SetHandler(ansi.Handler{
			HandleCsi: func(_ ansi.Cmd, params ansi.Params) {
				params.ForEach(0, func(_, n int, _ bool) { require.LessOrEqual(t, n, 9999) })
			},
			HandleOsc: func(_ int, data []byte) { require.LessOrEqual(t, len(data), displayString) },
			HandleDcs: func(_ ansi.Cmd, params ansi.Params, data []byte) {
				params.ForEach(0, func(_, n int, _ bool) { require.LessOrEqual(t, n, 9999) })
				require.LessOrEqual(t, len(data), displayString)
			},
			HandleApc: func(data []byte) { require.LessOrEqual(t, len(data), displayString) },
			HandlePm:  func(data []byte) { require.LessOrEqual(t, len(data), displayString) },
			HandleSos: func(data []byte) { require.LessOrEqual(t, len(data), displayString) },
		})
		var filter filter
		for i, b := range p {
			if filter.passes(b) {
				mirror.Advance(b)
			}
			if mirror.State() != filter.state {
				require.Equal(t, parser.StateNames[mirror.State()], parser.StateNames[filter.state], "after %q", p[:i+1])
			}
		}
	})
}

// FuzzDisplay checks that what is drawn in pieces shows the same, and never control
// characters or more than its size.
func FuzzDisplay(f *testing.F) {
	f.Add("a\x1b[31mb\r\n\x1b[3;4Hc\x1b[2J\x1b[65535bd", 5)
	f.Add("\x1b]0;title\x07本\x1b[5L\x1b[1;3r\n\n\n\x1bM\x1b[?1049hx", 9)
	f.Fuzz(func(t *testing.T, text string, i int) {
		i = int(uint(i) % uint(len(text)+1))
		if i < len(text) && text[i] >= 0x80 {
			return // accents are drawn beside their letter if they come alone
		}
		whole := newDisplay(t, 20, 5).shown(text)
		require.Equal(t, whole, newDisplay(t, 20, 5).shown(text[:i], text[i:]))
		require.LessOrEqual(t, len(whole), displayCell*20*5)
		require.NotRegexp(t, `[^\P{Cc}\n]`, whole)
	})
}
