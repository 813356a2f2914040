package output

import (
	"bytes"
	"io"
)

const (
	// maxLine bounds the line being written, in bytes. Of a longer one the front
	// half is finished and cannot be edited any more.
	maxLine = 64 << 10

	// An edit may look at editWork bytes of the line, and all of them at
	// spareWork more. A line whose edits cost more than that is finished like the
	// front of one that is too long: what redraws a terminal's line does not, but
	// each edit of a line of maxLine may.
	editWork  = 512
	spareWork = 1 << 20

	handOver = 16 << 10 // finished text is handed on once there is this much, or at the end of a Write
	retained = 48 << 10 // a larger buffer is given up when the line in it is short
)

// line is the line being written, with a cursor:
//
//	buf:   finished text │ what is left of the cursor ║ right: what is right of it
//	                     start              known     ║
//
// Text goes to the end of buf, whatever it overwrites: known is how far that
// was settled with what is right of the cursor. As long as nothing is, nobody
// needs to know what columns text has, and even newlines stay in buf unseen
// until something depends on where the line begins. The cursor may be ahead of
// the text left of it: past the end of the line, or within a tab or a wide rune,
// which is then the first of what is right of it.
type line struct {
	w     io.Writer
	buf   []byte
	start int // of the line; text before it is finished
	seen  int // there is no newline from start to here

	left   int // column of start, not 0 where the line's front is finished already
	known  int // text behind it has not overwritten what is in right yet
	column int // of known

	right right
	work  int  // bytes that edits of the line looked at, less what they may
	ahead int  // columns from the end of buf to the cursor
	blank bool // some spaces are cells without text: NULs until the line is shown
}

// atEnd reports whether text is only added and nothing needs care.
func (l *line) atEnd() bool { return l.right.at == len(l.right.buf) && l.ahead == 0 && !l.blank }

// newline finishes the line and begins another.
func (l *line) newline() {
	l.settle()
	l.finish()
	l.buf = append(l.buf, '\n')
	l.begin(len(l.buf))
	l.added()
}

// begin begins a line at a position in buf.
func (l *line) begin(at int) {
	l.start, l.seen, l.known = at, at, at
	l.column, l.left, l.work = 0, 0, 0
}

// settle finds where the line begins and finishes the front of one that is too
// long.
func (l *line) settle() {
	if l.seen < len(l.buf) && l.atEnd() { // only add adds newlines
		if i := lastNewline(l.buf[l.seen:]); i >= 0 {
			l.begin(l.seen + i + 1)
		}
		l.seen = len(l.buf)
	}
	l.bound()
	if l.start >= handOver {
		l.flush()
	}
}

// size is the length of the line.
func (l *line) size() int { return len(l.buf) - l.start + len(l.right.text()) }

// bound finishes the front of a line that is too long.
func (l *line) bound() {
	for l.size() > maxLine && len(l.buf) > l.start {
		front := l.buf[l.start:]
		front = front[:cutRune(front, maxLine/2)]
		l.left = advance(l.left, front)
		l.start += len(front)
		l.seen = max(l.seen, l.start)
		if l.known < l.start {
			l.known, l.column = l.start, l.left
		}
		if l.blank {
			unblank(front)
		}
	}
}

// afford takes note of one edit, and finishes a line whose edits have cost too
// much.
func (l *line) afford() {
	if l.work = max(0, l.work-editWork); l.work <= spareWork {
		return
	}
	l.finish()
	left := advance(l.left, l.buf[l.start:])
	l.begin(len(l.buf))
	l.left, l.column = left, left
}

// flush hands finished text on.
func (l *line) flush() {
	if l.start == 0 {
		return
	}
	_, _ = l.w.Write(l.buf[:l.start])
	l.buf = l.buf[:copy(l.buf, l.buf[l.start:])]
	l.seen -= l.start
	l.known -= l.start
	l.start = 0
}

// rest ends a Write: everything finished is handed on.
func (l *line) rest() {
	l.settle()
	l.flush()
	if cap(l.buf) > retained && len(l.buf) < retained/8 {
		l.buf = bytes.Clone(l.buf)
	}
	if cap(l.right.buf) > retained && l.atEnd() {
		l.right = right{}
	}
}

// text returns the line as it is shown now, valid until it changes.
func (l *line) text() []byte {
	l.overwrite()
	shown := l.buf[l.start:]
	if l.atEnd() {
		return shown
	}
	n := len(l.buf)
	l.buf = append(append(l.buf, shown...), l.right.text()...)
	shown = l.buf[n:]
	l.buf = l.buf[:n]
	if l.blank {
		shown = unblank(bytes.TrimRight(shown, "\x00"))
	}
	return shown
}

// finish joins the line, which becomes text without a cursor.
func (l *line) finish() {
	l.overwrite()
	l.buf = append(l.buf, l.right.text()...)
	if l.blank {
		n := len(unblank(bytes.TrimRight(l.buf[l.start:], "\x00")))
		l.buf = l.buf[:l.start+n]
	}
	l.right.clear()
	l.ahead, l.blank = 0, false
}

// unblank makes spaces of the cells without text.
func unblank(p []byte) []byte {
	for i, b := range p {
		if b == 0 {
			p[i] = ' '
		}
	}
	return p
}
