package sanitize

import (
	"bytes"
	"io"
	"unicode/utf8"
)

const (
	// maxLine bounds the line being written: in bytes while it is plain, in
	// columns once it is edited. The front half of a longer line is finished and
	// cannot be edited any more; from then on columns count from its end.
	maxLine = 64 << 10

	// handOver is how much finished text is handed on at once. At the end of a Write there
	// may be less.
	handOver = 16 << 10

	// uncopied is the least size of clean lines that are handed on without a copy.
	uncopied = 2 << 10

	// retained is the largest size of the buffers that are kept while the line is plain and
	// short.
	retained = 32 << 10
)

// line is the line being written, in one of two states:
//
//	          CR, BS, a tab or text that is not at the end, EL, CHA, …
//	plain ─────────────────────────────────────────────────────────────► edited
//	  ▲                                                                    │
//	  └────────────────────────────────────────────────────────────────────┘
//	                     LF, or nothing is left of the line
//
// A plain line is bytes at the end of buf, without known columns.
// An edited line is cells with a cursor.
type line struct {
	w io.Writer

	// buf is finished text and, from start on, the plain line.
	buf   []byte
	start int

	edited bool
	cells  []cell // one for each column
	column int    // of the cursor, maybe past the end
	credit int    // in columns: see maxCredit

	// The first blanks columns, or all if there are fewer, are blank.
	blanks int
}

// text takes the clean text at the beginning of p and returns its length.
func (l *line) text(p []byte) int {
	n := 0
	if l.edited {
		n = l.print(p)
	} else {
		n = cleanPrefix(p)
		l.add(p[:n])
	}
	l.credit = min(l.credit+columnsPerByte*n, maxCredit)
	return n
}

// replace adds U+FFFD, which stands for a byte that is not UTF-8.
func (l *line) replace() {
	if l.edited {
		l.put(utf8.RuneError, 1)
		return
	}
	l.buf = utf8.AppendRune(l.buf, utf8.RuneError)
	l.bound()
}

// add adds clean text, which may have newlines and tabs, to a plain line.
func (l *line) add(p []byte) {
	if n := bytes.LastIndexByte(p, '\n') + 1; n >= uncopied {
		l.start = len(l.buf)
		l.flush()
		_, _ = l.w.Write(p[:n])
		p = p[n:]
	} else if n > 0 {
		l.buf = append(l.buf, p[:n]...)
		l.start = len(l.buf)
		p = p[n:]
	}
	for len(p) > 0 {
		n := CutRune(p, handOver)
		l.buf = append(l.buf, p[:n]...)
		p = p[n:]
		l.bound()
	}
}

// bound finishes the front of a plain line that is too long.
func (l *line) bound() {
	for len(l.buf)-l.start > maxLine {
		l.start += CutRune(l.buf[l.start:], maxLine/2)
	}
	if l.start >= handOver {
		l.flush()
	}
}

// CutRune returns the largest n' <= n at which valid text may be cut without
// cutting a rune.
func CutRune(p []byte, n int) int {
	if n >= len(p) {
		return len(p)
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return n
}

// newline finishes the line and begins another.
func (l *line) newline() {
	l.finish()
	l.buf = append(l.buf, '\n')
	l.start = len(l.buf)
	l.bound()
}

// finish makes finished text of the line.
func (l *line) finish() {
	if l.edited {
		l.cells = trimBlanks(l.cells)
		l.finishCells(len(l.cells))
		l.edited = false
		l.column = 0
	}
	l.start = len(l.buf)
}

// flush hands finished text on.
func (l *line) flush() {
	if l.start == 0 {
		return
	}
	_, _ = l.w.Write(l.buf[:l.start])
	l.buf = l.buf[:copy(l.buf, l.buf[l.start:])]
	l.start = 0
}

// rest hands finished text on at the end of a Write, and frees large buffers.
func (l *line) rest() {
	l.flush()
	size := cap(l.buf) + cellSize*cap(l.cells)
	if !l.edited && len(l.buf) < retained/8 && size > retained {
		l.buf = bytes.Clone(l.buf)
		l.cells = nil
	}
}

// shown returns the line as a terminal shows it now.
func (l *line) shown() []byte {
	if !l.edited {
		return l.buf[l.start:]
	}
	return appendCells(nil, trimBlanks(l.cells))
}
