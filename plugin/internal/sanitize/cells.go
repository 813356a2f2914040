package sanitize

import (
	"slices"
	"unicode/utf8"
	"unsafe"
)

const tabStop = 8

// cell is one column of an edited line. The zero cell is blank.
type cell struct {
	r     rune // or blank or wide
	marks [maxMarks]rune
}

// cellSize is the size of a cell in memory. Its text never has more bytes.
const cellSize = int(unsafe.Sizeof(cell{}))

// maxMarks is how many runes without a column of their own, such as accents, a
// cell keeps. Terminals do not show many more either.
const maxMarks = 3

const (
	blank = rune(0)  // nothing was written here: a space, or nothing at the end of the line
	wide  = rune(-1) // the rune or tab to the left extends to here
)

// toCells makes cells of a plain line.
func (l *line) toCells() {
	if l.edited {
		return
	}
	l.edited = true
	text := l.buf[l.start:]
	l.buf = l.buf[:l.start] // finishCells may overwrite the part of text that was read already
	for len(text) > 0 {
		n := l.print(text)
		text = text[n:]
		if len(text) > 0 {
			l.tab()
			text = text[1:]
		}
	}
}

// print writes the printable text at the beginning of p to an edited line, at the
// cursor, and returns the text's length.
func (l *line) print(p []byte) int {
	i := 0
	for i < len(p) {
		if n := asciiPrefix(p[i:]); n > 0 {
			cells := l.take(1, n)
			for j := range cells {
				cells[j] = cell{r: rune(p[i+j])}
			}
			i += len(cells)
			continue
		}
		if n := barPrefix(p[i:]); n > 0 {
			cells := l.take(1, n)
			for j := range cells {
				cells[j] = cell{r: 0x2000 | rune(p[i+1]&0x3f)<<6 | rune(p[i+2]&0x3f)}
				i += 3
			}
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if r < 0xa0 || r == utf8.RuneError && size == 1 {
			break
		}
		l.put(r, width(r, p[i:i+size]))
		i += size
	}
	return i
}

// put writes one rune at the cursor.
func (l *line) put(r rune, columns int) {
	if columns == 0 {
		l.putMark(r)
		return
	}
	cells := l.take(columns, columns)
	for i := range cells {
		cells[i] = cell{r: wide}
	}
	cells[0].r = r
}

// putMark adds a mark, such as an accent, to the rune before the cursor.
func (l *line) putMark(r rune) {
	if l.column > len(l.cells) {
		l.pad()
	}
	if l.column == 0 {
		return
	}
	i := l.first(l.column - 1)
	l.blanks = min(l.blanks, i)
	c := &l.cells[i]
	if c.r == blank {
		c.r = ' '
	}
	if i := slices.Index(c.marks[:], 0); i >= 0 {
		c.marks[i] = r
	}
}

// tab adds a tab at the end of the line; before the end, it only moves the cursor.
func (l *line) tab() {
	if !l.edited {
		l.add([]byte{'\t'})
		return
	}
	columns := tabStop - l.column%tabStop
	if l.column == len(l.cells) {
		l.put('\t', columns)
	} else {
		l.moveTo(l.column + columns)
	}
}

// take returns cells at the cursor, between least and most of them, for the caller to
// overwrite. It moves the cursor past them.
func (l *line) take(least, most int) []cell {
	if l.column > len(l.cells) {
		l.pad()
	}
	if l.column+least > maxLine {
		l.finishCells(l.first(maxLine / 2))
	}
	from := l.column
	l.blanks = min(l.blanks, from)
	l.column = min(from+most, maxLine)
	l.split(from)
	l.split(l.column)
	l.extend(l.column)
	return l.cells[from:l.column]
}

// pad adds blanks to a line that ends before the cursor. If the credit is not enough, it
// adds fewer and moves the cursor to the left, to the new end.
func (l *line) pad() {
	end := len(l.cells)
	l.column = min(l.column, end+l.credit)
	l.credit -= l.column - end
	l.extend(l.column)
	clear(l.cells[end:])
}

// extend makes the line at least n columns long. The caller writes the new ones.
func (l *line) extend(n int) {
	if n > len(l.cells) {
		l.cells = slices.Grow(l.cells, n-len(l.cells))[:n]
	}
}

// first returns the column where the rune or tab at a column begins.
func (l *line) first(column int) int {
	for l.cells[column].r == wide {
		column--
	}
	return column
}

// split replaces a rune or tab by spaces if it began before a column and extends to it.
func (l *line) split(column int) {
	if column >= len(l.cells) || l.cells[column].r != wide {
		return
	}
	i := l.first(column)
	l.cells[i] = cell{r: ' '}
	i++
	for i < len(l.cells) && l.cells[i].r == wide {
		l.cells[i].r = ' '
		i++
	}
}

// finishCells makes finished text of the first n cells.
func (l *line) finishCells(n int) {
	for part := range slices.Chunk(l.cells[:n], handOver/cellSize) {
		l.buf = appendCells(l.buf, part)
		l.start = len(l.buf)
		l.bound()
	}
	l.cells = l.cells[:copy(l.cells, l.cells[n:])]
	l.blanks = max(l.blanks-n, 0)
	l.column = max(l.column-n, 0)
}

// trimBlanks cuts off the blanks at the end.
func trimBlanks(cells []cell) []cell {
	for len(cells) > 0 && cells[len(cells)-1].r == blank {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// appendCells appends the text of cells to dst.
func appendCells(dst []byte, cells []cell) []byte {
	dst = slices.Grow(dst, len(cells))
	for _, c := range cells {
		switch {
		case c.r == wide:
			continue
		case c.r == blank:
			dst = append(dst, ' ')
		case c.r < utf8.RuneSelf:
			dst = append(dst, byte(c.r))
		default:
			dst = utf8.AppendRune(dst, c.r)
		}
		for i := 0; i < maxMarks && c.marks[i] != 0; i++ {
			dst = utf8.AppendRune(dst, c.marks[i])
		}
	}
	return dst
}
