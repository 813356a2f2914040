package output

import "bytes"

// edit carries out a control sequence that changes the line or moves within
// it, and ignores every other one. param is -1 where there is none.
func (l *line) edit(final byte, param int) {
	l.afford()
	n := max(param, 1)
	switch final {
	case 'G', '`': // CHA, HPA
		l.moveTo(n - 1)
	case 'C', 'a': // CUF, HPR
		l.move(n)
	case 'D', 'j': // CUB, HPB
		l.move(-n)
	case 'K': // EL
		l.erase(max(param, 0))
	case 'X', 'P', '@': // ECH, DCH, ICH
		l.shift(final, n)
	}
}

// erase erases to the end (0), from the beginning (1) or everything (2).
func (l *line) erase(what int) {
	if what == 0 && l.atEnd() {
		return
	}
	l.settle()
	l.overwrite()
	column := l.column + l.ahead
	switch {
	case what == 0:
		l.right.clear()
	case what == 1 && l.ahead+1 < l.right.width:
		l.eraseFront(column)
	case what <= 2:
		l.right.clear()
		l.cut(l.start, l.left)
		l.ahead = min(column-l.left, maxLine)
	}
}

// eraseFront blanks what is left of a column and in it.
func (l *line) eraseFront(column int) {
	l.right.take(l.ahead+1, l.column)
	l.right.pushByte(0, 1)
	n := min(column-l.left, max(maxLine-len(l.right.text()), 0))
	l.left = column - n // where there are more tabs than blanks fit, the first are gone
	l.cut(l.start, l.left)
	l.ahead = 0
	l.fill(0, n)
}

// shift erases (ECH), deletes (DCH) or inserts (ICH) n cells right of the
// cursor.
func (l *line) shift(final byte, n int) {
	l.settle()
	l.overwrite()
	if len(l.right.text()) == 0 {
		return
	}
	l.reach()
	if final != 'X' {
		l.expand()
	}
	if final != '@' {
		l.right.take(n, l.column)
	}
	if final != 'P' && len(l.right.text()) > 0 {
		l.right.pushByte(0, min(n, max(maxLine-l.size(), 0)))
		l.blank = true
	}
	l.right.width = advance(l.column, l.right.text()) - l.column
	l.work += len(l.right.text())
}

// expand makes spaces of the tabs right of the cursor, which would not move
// with the text, unless they are too many.
func (l *line) expand() {
	text := l.right.text()
	tabs := bytes.Count(text, []byte{'\t'})
	if tabs == 0 || l.size()+tabs*(tabStop-1) > maxLine {
		return
	}
	n, column := len(l.buf), l.column
	for len(text) > 0 {
		size, width := cell(text, column)
		if text[0] == '\t' {
			l.buf = append(l.buf, spaces[:width]...)
		} else {
			l.buf = append(l.buf, text[:size]...)
		}
		text = text[size:]
		column += width
	}
	l.right.clear()
	l.right.push(l.buf[n:], column-l.column)
	l.buf = l.buf[:n]
}
