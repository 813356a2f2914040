package sanitize

const (
	// maxColumn is more columns than any terminal has that a command can get. The cursor may
	// be that far to the right of a shorter line's end.
	maxColumn = 512

	// A few bytes must not cause as much work as many bytes do. So long blanks cost credit: those
	// between the end of a line and text to the right of it, and those from erasing more than
	// maxColumn columns at once. A line begins with a credit of maxCredit columns, and never has
	// more. Each byte of text adds columnsPerByte columns to it.
	columnsPerByte = 16
	maxCredit      = 8 * maxLine
)

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
		l.eraseStart(l.column + 1)
	case what == 1 || what == 2:
		l.cells = l.cells[:0]
	}
	l.becomePlain()
}

// eraseStart erases the first n columns of a longer line. If the credit is not enough, it erases
// only within the last maxColumn columns of the line, and finishes the columns before those as they
// are.
func (l *line) eraseStart(n int) {
	if !l.afford(n - l.blanks) {
		finished := l.first(len(l.cells) - maxColumn)
		l.finishCells(finished)
		n = max(n-finished, 0)
	}
	l.split(n)
	clear(l.cells[min(l.blanks, n):n])
	l.blanks = max(l.blanks, n)
}

// afford takes the cost of erasing n columns off the credit, and reports whether that was enough.
func (l *line) afford(n int) bool {
	if n <= maxColumn {
		return true
	}
	if n > l.credit {
		return false
	}
	l.credit -= n
	return true
}

// move moves the cursor by columns.
func (l *line) move(by int) {
	l.toCells()
	l.moveTo(l.column + by)
}

// moveTo moves the cursor to a column, but not far past the end.
func (l *line) moveTo(column int) {
	l.toCells()
	end := len(l.cells)
	l.column = max(column, 0)
	if l.column > end {
		l.column = max(end, min(l.column, maxColumn))
	}
	l.becomePlain()
}

// becomePlain makes an edited line plain again if it is empty.
func (l *line) becomePlain() {
	if len(l.cells) == 0 && l.column == 0 {
		l.edited = false
	}
}
