package sanitize

import "unicode/utf8"

// maxMarks bounds the marks of a line. A line whose cells show more than half as
// many is finished.
const maxMarks = 16 << 10

// mark is a rune without a column of its own, such as an accent. It belongs to
// the cell before it. The first one of a line is number 1.
type mark struct {
	r      rune
	before int32 // number of the cell's mark before this one; 0: there is none
}

// putMark adds a mark to the cell before the cursor, if there is one.
func (l *line) putMark(r rune) {
	if len(l.marks) == maxMarks {
		l.dropMarks()
	}
	if l.column == 0 {
		return
	}
	l.pad(l.column)
	c := &l.cells[l.first(l.column-1)]
	if c.r == blank {
		c.r = ' '
	}
	l.marks = append(l.marks, mark{r, c.mark})
	c.mark = int32(len(l.marks))
}

// dropMarks drops the marks that no cell shows any more.
func (l *line) dropMarks() {
	old := l.marks
	l.marks = nil
	for i := range l.cells {
		l.cells[i].mark = l.keepMarks(old, l.cells[i].mark)
	}
	if len(l.marks) > maxMarks/2 {
		l.finishCells(len(l.cells))
		l.marks = nil
	}
}

// keepMarks keeps an old mark and those before it, and returns its number.
func (l *line) keepMarks(old []mark, number int32) int32 {
	if number == 0 {
		return 0
	}
	m := old[number-1]
	m.before = l.keepMarks(old, m.before)
	l.marks = append(l.marks, m)
	return int32(len(l.marks))
}

// appendMarks appends a mark and those before it to dst.
func appendMarks(dst []byte, marks []mark, number int32) []byte {
	if number == 0 {
		return dst
	}
	m := marks[number-1]
	return utf8.AppendRune(appendMarks(dst, marks, m.before), m.r)
}
