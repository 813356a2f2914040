package sanitize

// maxColumn bounds how far the cursor may move past the end of a line.
const maxColumn = 1 << 10

// edit carries out a control sequence that erases in the line or moves within
// it, and ignores every other one. param is -1 if there is none.
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
		for i := range l.column + 1 {
			l.cells[i] = cell{r: blank}
		}
	case what == 1 || what == 2:
		l.cells = l.cells[:0]
	}
	l.becomePlain()
}

// move moves the cursor by columns.
func (l *line) move(by int) {
	l.toCells()
	l.moveTo(l.column + by)
}

// moveTo moves the cursor to a column, but not far past the end.
func (l *line) moveTo(column int) {
	l.toCells()
	if l.column = max(column, 0); l.column > len(l.cells) {
		l.column = max(len(l.cells), min(l.column, maxColumn))
	}
	l.becomePlain()
}

// becomePlain makes an edited line plain again if it is empty.
func (l *line) becomePlain() {
	if len(l.cells) == 0 && l.column == 0 {
		l.edited = false
	}
}
