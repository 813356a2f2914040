package output

import (
	"slices"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cells is a line as a terminal has it: a rune a column. A wide rune has two
// cells, a tab those up to its stop.
type cells struct {
	row    []cell
	column int      // of the cursor; it may be behind the row's end
	marks  [][]byte // runes of no width, by cell.mark-1
	extra  int      // bytes in marks
}

type cell struct {
	r    rune
	mark int32 // 0: none
}

// Cells that belong to the one before them.
const (
	wideTail = -1
	tabTail  = -2
)

const tabStop = 8

var blank = cell{r: ' '}

// append appends the text of the row.
func (c *cells) append(dst []byte) []byte {
	for _, cell := range c.row {
		if cell.r < 0 {
			continue
		}
		dst = utf8.AppendRune(dst, cell.r)
		if cell.mark > 0 {
			dst = append(dst, c.marks[cell.mark-1]...)
		}
	}
	return dst
}

// put writes clean text at the cursor, as much of it as the bound allows.
func (c *cells) put(p []byte) int {
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		width := runeWidth(r)
		if c.column+max(width, 1) > maxLine && r != '\t' || c.column >= maxLine {
			return i
		}
		switch {
		case r == '\t':
			c.tab()
		case width == 0 && c.column > 0:
			c.combine(p[i : i+size])
		default:
			c.write(r, max(width, 1))
		}
		i += size
	}
	return len(p)
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300, r >= 0x2500 && r < 0x25a0:
		return 1
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4, r >= 0x3041 && r < 0x3097, r >= 0x30a1 && r < 0x30fb:
		return 2
	}
	return min(ansi.StringWidth(string(r)), 2)
}

func (c *cells) write(r rune, width int) {
	c.pad(c.column)
	for i := c.column; i < min(c.column+width, len(c.row)); i++ {
		c.split(i)
	}
	for i := range width {
		next := cell{r: r}
		if i > 0 {
			next.r = wideTail
		}
		if c.column < len(c.row) {
			c.row[c.column] = next
		} else {
			c.row = append(c.row, next)
		}
		c.column++
	}
}

// pad fills the row with blanks up to a column.
func (c *cells) pad(column int) {
	for len(c.row) < column {
		c.row = append(c.row, blank)
	}
}

// split makes blanks of the wide rune or the tab that has a cell at i.
func (c *cells) split(i int) {
	from := i
	for from > 0 && c.row[from].r < 0 {
		from--
	}
	to := from + 1
	for to < len(c.row) && c.row[to].r < 0 {
		to++
	}
	if to-from > 1 || c.row[from].r == '\t' {
		for j := from; j < to; j++ {
			c.row[j] = blank
		}
	}
}

// tab moves to the next stop. At the row's end it becomes part of it.
func (c *cells) tab() {
	stop := min((c.column/tabStop+1)*tabStop, maxLine)
	if c.column == len(c.row) {
		c.row = append(c.row, cell{r: '\t'})
		for len(c.row) < stop {
			c.row = append(c.row, cell{r: tabTail})
		}
	}
	c.column = stop
}

// combine adds a rune of no width to the cell before the cursor.
func (c *cells) combine(r []byte) {
	i := c.column - 1
	c.pad(c.column)
	for i > 0 && c.row[i].r < 0 {
		i--
	}
	if c.extra += len(r); c.extra > maxLine {
		return // more marks than any script stacks
	}
	if c.row[i].mark == 0 {
		c.marks = append(c.marks, nil)
		c.row[i].mark = int32(len(c.marks))
	}
	m := &c.marks[c.row[i].mark-1]
	*m = append(*m, r...)
}

func (c *cells) erase(what int) {
	switch end := len(c.row); {
	case what == 0:
		c.cut(c.column)
	case what == 2 || what == 1 && c.column+1 >= end:
		c.row = c.row[:0]
	case what == 1:
		c.blank(0, c.column+1)
	}
}

// cut ends the row at a column.
func (c *cells) cut(column int) {
	if column < len(c.row) {
		c.split(column)
		c.row = c.row[:column]
	}
}

// blank erases the cells from one column to another, both within the row.
func (c *cells) blank(from, to int) {
	for i := from; i < to; i++ {
		c.split(i)
		c.row[i] = blank
	}
}

// edit erases, deletes or inserts n cells at the cursor.
func (c *cells) edit(final byte, n int) {
	end := len(c.row)
	if c.column >= end {
		return
	}
	to := min(c.column+n, end)
	switch {
	case final != '@' && to == end:
		c.cut(c.column)
	case final == 'X':
		c.blank(c.column, to)
	case final == 'P':
		c.split(c.column)
		c.split(to)
		c.row = slices.Delete(c.row, c.column, to)
	case final == '@':
		c.split(c.column)
		c.row = slices.Insert(c.row, c.column, slices.Repeat([]cell{blank}, min(n, maxMove, maxLine-end))...)
	}
}
