package sanitize

import "slices"

// edit carries out a control sequence that changes the line or moves within
// it, and ignores every other one. param is -1 where there is none.
func (l *line) edit(final byte, param int) {
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
	if what == 0 && !l.edited {
		return
	}
	l.toCells()
	switch {
	case what == 0 && l.column < len(l.cells):
		l.cells = l.cells[:l.first(l.column)]
	case what == 1 && l.column+1 < len(l.cells):
		l.split(l.column)
		l.split(l.column + 1)
		l.blanks(0, l.column+1)
	case what == 1 || what == 2:
		l.cells = l.cells[:0]
	}
	l.settle()
}

// blanks makes cells blank.
func (l *line) blanks(from, to int) {
	for i := from; i < to; i++ {
		l.cells[i] = cell{r: blank}
	}
}

// shift erases (ECH), deletes (DCH) or inserts (ICH) n cells right of the
// cursor.
func (l *line) shift(final byte, n int) {
	if !l.edited || l.column >= len(l.cells) {
		return
	}
	at := l.column
	end := min(at+n, len(l.cells))
	l.split(at)
	if final != 'X' {
		l.expandTabs(at)
	}
	if final != '@' && end == len(l.cells) {
		l.cells = l.cells[:at]
		l.settle()
		return
	}
	switch final {
	case 'X':
		l.split(end)
		l.blanks(at, end)
	case 'P':
		l.split(end)
		l.cells = slices.Delete(l.cells, at, end)
	case '@':
		size := max(len(l.cells), min(len(l.cells)+n, maxColumn))
		n = min(n, size-at)
		l.pad(size)
		l.split(size - n) // what goes past the end is lost, as at the edge of a terminal
		copy(l.cells[at+n:], l.cells[at:])
		l.blanks(at, at+n)
	}
}

// expandTabs makes spaces of the tabs from a column on, which would not move
// with the text.
func (l *line) expandTabs(from int) {
	for i := from; i < len(l.cells); i++ {
		if l.cells[i].r == '\t' {
			l.split(i + 1)
			l.cells[i] = cell{r: ' '}
		}
	}
}
