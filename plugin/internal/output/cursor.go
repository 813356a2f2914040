package output

import (
	"slices"
	"unicode/utf8"
)

// maxColumn bounds how far past the end of the line the cursor moves.
const maxColumn = 1 << 10

// write writes clean text without newlines and tabs at a cursor that may have
// moved. Where the line may get too long, it looks at every rune, so that what
// is finished does not depend on how much came at once.
func (l *line) write(p []byte) {
	if l.atEnd() { // then p is short
		l.buf = append(l.buf, p...)
		l.added()
		return
	}
	l.reach()
	if l.size()+len(p) <= maxLine-tabStop { // a tab that is overwritten may grow
		l.buf = append(l.buf, p...)
		return
	}
	l.settle()
	for len(p) > 0 {
		_, n := utf8.DecodeRune(p)
		l.buf = append(l.buf, p[:n]...)
		l.overwrite()
		l.bound()
		p = p[n:]
	}
}

// tab is text at the end of the line and a move before it.
func (l *line) tab() {
	l.settle()
	l.overwrite()
	if len(l.right.text()) == 0 && l.ahead == 0 {
		l.buf = append(l.buf, '\t')
		l.added()
		return
	}
	column := l.column + l.ahead
	l.moveTo(column + tabStop - column%tabStop)
}

// overwrite takes from what is right of the cursor what text was put over.
func (l *line) overwrite() {
	if l.known == len(l.buf) {
		return
	}
	column := advance(l.column, l.buf[l.known:])
	l.right.take(column-l.column, l.column)
	l.known, l.column = len(l.buf), column
}

// reach brings the text left of the cursor up to it: by blanks past the end,
// by spaces where the cursor is within a tab or a wide rune.
func (l *line) reach() {
	if l.ahead == 0 {
		return
	}
	fill := byte(0)
	if text := l.right.text(); len(text) > 0 {
		_, width := cell(text, l.column)
		l.right.take(width, l.column)
		l.right.pushByte(' ', width-l.ahead)
		fill = ' '
	}
	l.fill(fill, l.ahead)
	l.ahead = 0
}

// fill writes n times the same byte left of the cursor.
func (l *line) fill(b byte, n int) {
	l.blank = l.blank || b == 0
	l.buf = slices.Grow(l.buf, n)
	for range n {
		l.buf = append(l.buf, b)
	}
	l.column += n
	l.known = len(l.buf)
}

// cut ends the text left of the cursor at a position in buf and its column.
func (l *line) cut(at, column int) {
	l.buf = l.buf[:at]
	l.seen, l.known, l.column = at, at, column
}

// move moves the cursor by columns.
func (l *line) move(by int) {
	l.settle()
	l.overwrite()
	l.moveTo(l.column + l.ahead + by)
}

// moveTo moves the cursor to a column: not past what is finished on the left,
// and not far past the end.
func (l *line) moveTo(column int) {
	l.settle()
	l.overwrite()
	if column < l.column {
		l.back(max(column, l.left))
	} else {
		l.forth(column)
	}
}

func (l *line) back(column int) {
	n, end := l.find(column)
	l.right.push(l.buf[l.start+n:], l.column-end)
	l.cut(l.start+n, end)
	l.ahead = column - end
}

// find returns where in the line the cell at a column left of the cursor
// begins, and its first column.
func (l *line) find(column int) (n, first int) {
	text, by := l.buf[l.start:], l.column-column
	switch {
	case column == l.left:
		return 0, column
	case by <= len(text) && singlePrefix(text[len(text)-by:]) == by:
		return len(text) - by, column
	case by <= maxBack:
		return l.backwards(column)
	}
	return l.upTo(column, text)
}

// upTo is that of the line's text.
func (l *line) upTo(column int, text []byte) (n, first int) {
	n, first = upTo(column, l.left, text)
	l.work += n
	return n, first
}

// maxBack is how many columns are counted backwards and not from the line's
// beginning.
const maxBack = 64

// backwards is find from the cursor's side. The columns of a tab are known only
// from the other side.
func (l *line) backwards(to int) (n, first int) {
	text := l.buf[l.start:]
	n, first = len(text), l.column
	for first > to {
		r, size := utf8.DecodeLastRune(text[:n])
		if r == '\t' {
			return l.upTo(to, text)
		}
		n -= size
		_, width := cell(text[n:n+size], 0)
		first -= width
	}
	return n, first
}

func (l *line) forth(column int) {
	text := l.right.text()
	n, end := upTo(column, l.column, text)
	l.work += n
	l.buf = append(l.buf, text[:n]...)
	l.right.at += n
	l.right.width -= end - l.column
	l.known, l.column = len(l.buf), end
	if n == len(text) {
		column = max(end, min(column, maxColumn))
	}
	l.ahead = column - end
}
