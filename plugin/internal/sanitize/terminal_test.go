package sanitize

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

// terminal is the plainest possible model of the line being written: a slice
// of cells, one a column.
type terminal struct {
	cells  []glyph
	column int
}

// glyph is what a cell shows. A cell with no text belongs to the one before it.
type glyph struct {
	text  string
	blank bool // nothing was written here
}

func (t *terminal) String() string {
	end := len(t.cells)
	for end > 0 && t.cells[end-1].blank {
		end--
	}
	var b strings.Builder
	for _, c := range t.cells[:end] {
		b.WriteString(c.text)
	}
	return b.String()
}

func (t *terminal) print(r rune) {
	width := ansi.StringWidthWc(string(r))
	if width == 0 {
		i := t.column - 1
		for t.cells[i].text == "" {
			i--
		}
		t.cells[i].text += string(r)
		return
	}
	t.pad()
	for i := range width {
		t.split(t.column + i)
	}
	for i := range width {
		if t.column == len(t.cells) {
			t.cells = append(t.cells, glyph{})
		}
		t.cells[t.column] = glyph{}
		if i == 0 {
			t.cells[t.column].text = string(r)
		}
		t.column++
	}
}

func (t *terminal) pad() {
	for len(t.cells) < t.column {
		t.cells = append(t.cells, glyph{text: " ", blank: true})
	}
}

// span returns the cells of what is at column i.
func (t *terminal) span(i int) (from, to int) {
	for from = i; t.cells[from].text == ""; from-- {
	}
	for to = from + 1; to < len(t.cells) && t.cells[to].text == ""; to++ {
	}
	return from, to
}

// split makes spaces of the wide rune or tab at column i.
func (t *terminal) split(i int) {
	if i >= len(t.cells) {
		return
	}
	if from, to := t.span(i); to-from > 1 || t.cells[i].text == "\t" {
		t.spaces(from, to)
	}
}

func (t *terminal) spaces(from, to int) {
	for i := from; i < to; i++ {
		t.cells[i] = glyph{text: " "}
	}
}

func (t *terminal) tab() {
	stop := t.column + tabStop - t.column%tabStop
	if t.column < len(t.cells) || t.column > len(t.cells) {
		t.moveTo(stop)
		return
	}
	t.cells = append(t.cells, glyph{text: "\t"})
	for t.column++; t.column < stop; t.column++ {
		t.cells = append(t.cells, glyph{})
	}
}

func (t *terminal) moveTo(column int) {
	if t.column = max(column, 0); t.column > len(t.cells) {
		t.column = max(len(t.cells), min(column, maxColumn))
	}
}

// cut erases from the cursor on, and with it the half of what the cursor is in.
func (t *terminal) cut() {
	if t.column < len(t.cells) {
		from, _ := t.span(t.column)
		t.cells = t.cells[:from]
	}
}

func (t *terminal) erase(what int) {
	switch {
	case what == 0:
		t.cut()
	case what == 2 || t.column+1 >= len(t.cells):
		t.cells = nil
	default:
		t.split(t.column)
		for i := range t.cells[:t.column+1] {
			t.cells[i] = glyph{" ", true}
		}
	}
}

// step is something a program does to the line.
type step struct {
	raw string
	do  func(*terminal)
}

func randomStep(r *rand.Rand) step {
	n := r.IntN(12)
	control := func(final byte, do func(*terminal)) step {
		return step{fmt.Sprintf("\x1b[%d%c", n, final), do}
	}
	switch r.IntN(15) {
	case 0, 1:
		return step{"\r", func(t *terminal) { t.moveTo(0) }}
	case 2, 3:
		return step{"\b", func(t *terminal) { t.moveTo(t.column - 1) }}
	case 4:
		return step{"\t", (*terminal).tab}
	case 5:
		n %= 3
		return control('K', func(t *terminal) { t.erase(n) })
	case 6:
		return control("G`"[n%2], func(t *terminal) { t.moveTo(max(n, 1) - 1) })
	case 7:
		return control("Ca"[n%2], func(t *terminal) { t.moveTo(t.column + max(n, 1)) })
	case 8:
		return control('D', func(t *terminal) { t.moveTo(t.column - max(n, 1)) })
	}
	words := []string{"a", "bc", "progress", "日", "本語", "é", "e\u0301", "█░", "👍", "1%", "x  ", "ﾊﾟ", "→\u200d"}
	word := words[r.IntN(len(words))]
	return step{word, func(t *terminal) {
		for _, r := range word {
			t.print(r)
		}
	}}
}

// Whatever a program does to a line, and however often someone looks, the
// sanitizer shows what the model shows.
func TestALineIsWhatATerminalShows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 4_000 {
		var raw string
		var want terminal
		var b bytes.Buffer
		z := New(&b)
		for range random.IntN(24) {
			next := randomStep(random)
			times := 1
			if i%50 == 0 { // beyond maxColumn
				times += random.IntN(400)
			}
			for range times {
				next.do(&want)
			}
			raw += strings.Repeat(next.raw, times)
			_, _ = z.Write([]byte(strings.Repeat(next.raw, times)))
			if random.IntN(2) == 0 {
				require.Equal(t, want.String(), string(z.Line()), "%q", raw)
			}
		}
		_ = z.Close()
		require.Equal(t, want.String(), b.String(), "%q", raw)
		require.Equal(t, want.String()+"\n", String(raw+"\n"), "%q", raw)
	}
}
