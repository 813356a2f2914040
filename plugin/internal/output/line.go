package output

// maxLine bounds the line being written, in bytes and in columns. The front of
// a longer one is finished and cannot be edited any more.
const maxLine = 64 << 10

// maxMove bounds how far a sequence of a few bytes moves the cursor, or text,
// to where nothing is: no terminal is wider.
const maxMove = 1000

// line is the line being written, with a cursor. As long as text is only added
// at its end, it is just the bytes. Once the cursor has moved, bytes will do
// while each is one column; for anything else it becomes cells.
type line struct {
	bytes  []byte
	simple bool // every byte is one column: no tab, nothing but ASCII
	atEnd  bool // the cursor is at the end of bytes; otherwise it is at column
	column int
	cells  *cells // in place of bytes, where not nil
	shown  []byte // of text, for cells
}

func newLine() line { return line{simple: true, atEnd: true} }

// reset makes the line empty and keeps its memory.
func (l *line) reset() {
	*l = line{bytes: l.bytes[:0], simple: true, atEnd: true, shown: l.shown[:0]}
}

// text returns the line as it is now, valid until it changes.
func (l *line) text() []byte {
	if l.cells == nil {
		return l.bytes
	}
	l.shown = l.cells.append(l.shown[:0])
	return l.shown
}

// put writes p, clean and without a newline, at the cursor. It returns how
// much of it the bound of the line leaves room for.
func (l *line) put(p []byte) int {
	switch {
	case l.cells == nil && l.atEnd:
		return l.add(p)
	case l.cells == nil && l.simple && isSimple(p):
		return l.overwrite(p)
	}
	l.toCells()
	return l.cells.put(p)
}

// add appends p.
func (l *line) add(p []byte) int {
	n := len(p)
	if room := maxLine - len(l.bytes); n > room {
		n = cutRune(p, room)
	}
	l.simple = l.simple && isSimple(p[:n])
	l.bytes = append(l.bytes, p[:n]...)
	return n
}

// overwrite writes p, which is simple as the line is, at the column.
func (l *line) overwrite(p []byte) int {
	p = p[:min(len(p), maxLine-l.column)]
	for len(l.bytes) < l.column {
		l.bytes = append(l.bytes, ' ')
	}
	n := copy(l.bytes[l.column:], p)
	l.bytes = append(l.bytes, p[n:]...)
	l.column += len(p)
	l.atEnd = l.column == len(l.bytes)
	return len(p)
}

// home moves the cursor to the beginning.
func (l *line) home() { l.moveTo(0) }

// moveTo moves the cursor to a column.
func (l *line) moveTo(column int) {
	if l.cells != nil {
		l.cells.column = within(column, len(l.cells.row))
		return
	}
	if column != 0 && !l.simple {
		l.toCells()
		l.cells.column = within(column, len(l.cells.row))
		return
	}
	column = within(column, len(l.bytes))
	l.column = column
	l.atEnd = l.simple && column == len(l.bytes) || len(l.bytes) == 0 && column == 0
}

// within bounds the column of the cursor in a row of a width.
func within(column, width int) int {
	return max(0, min(column, max(width, maxMove), maxLine-1))
}

// move moves the cursor by columns.
func (l *line) move(by int) {
	switch {
	case l.cells == nil && l.atEnd && l.simple:
		l.moveTo(len(l.bytes) + by)
	case l.cells == nil && l.atEnd:
		l.toCells()
		fallthrough
	case l.cells != nil:
		l.moveTo(l.cells.column + by)
	default:
		l.moveTo(l.column + by)
	}
}

func (l *line) toCells() {
	if l.cells != nil {
		return
	}
	l.cells = new(cells)
	l.cells.put(l.bytes)
	if !l.atEnd {
		l.cells.column = l.column
	}
	l.atEnd = false
}

// edit carries out a control sequence that changes the line or moves within
// it, and ignores every other one. param is -1 where there is none.
func (l *line) edit(final byte, param int) {
	n := max(param, 1)
	switch final {
	case 'G', '`': // CHA, HPA
		l.moveTo(n - 1)
	case 'C', 'a': // CUF, HPR
		l.move(n)
	case 'D': // CUB
		l.move(-n)
	case 'K': // EL
		l.erase(max(param, 0))
	case 'X', 'P', '@': // ECH, DCH, ICH
		l.toCells()
		l.cells.edit(final, n)
	}
}

// erase erases to the end (0), from the beginning (1) or everything (2).
func (l *line) erase(what int) {
	if l.cells == nil && l.atEnd && what == 0 {
		return
	}
	if l.cells != nil || !l.simple {
		l.toCells()
		l.cells.erase(what)
		return
	}
	if l.atEnd {
		l.column = len(l.bytes)
	}
	switch {
	case what == 0:
		l.bytes = l.bytes[:min(l.column, len(l.bytes))]
	case what == 2 || what == 1 && l.column+1 >= len(l.bytes):
		l.bytes = l.bytes[:0]
	case what == 1:
		for i := range l.bytes[:l.column+1] {
			l.bytes[i] = ' '
		}
	}
	l.moveTo(l.column)
}
