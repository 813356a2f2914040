package output

import (
	"encoding/binary"
	"slices"
)

const (
	uncopied = 2 << 10 // lines of at least this much clean text are handed on as they came
	short    = 64      // addShort looks at this much
)

// add adds clean text, which may have newlines and tabs, at the end.
func (l *line) add(p []byte) {
	if len(p) >= uncopied {
		p = p[l.addLines(p):]
	}
	for len(p) > 0 {
		n := cutRune(p, handOver)
		l.buf = append(l.buf, p[:n]...)
		p = p[n:]
		l.added()
	}
}

// added looks at what was added now and then.
func (l *line) added() {
	if len(l.buf)-l.start > handOver {
		l.settle()
	}
}

// addShort adds ASCII text if it is clean and something else follows soon, and
// returns its length. Most text between two colours is such.
func (l *line) addShort(p []byte) int {
	if cap(l.buf)-len(l.buf) < short {
		l.buf = slices.Grow(l.buf, short)
	}
	spare := l.buf[len(l.buf) : len(l.buf)+short]
	for i := 0; i < short && i+8 <= len(p); i += 8 {
		x := binary.LittleEndian.Uint64(p[i:])
		binary.LittleEndian.PutUint64(spare[i:], x)
		if found := dirty(x); found != 0 {
			n := i + first(found)
			l.buf = l.buf[:len(l.buf)+n]
			l.added()
			return n
		}
	}
	return 0
}

// addLines hands the whole lines in p on as they are. It returns their length.
func (l *line) addLines(p []byte) int {
	n := lastNewline(p) + 1
	if n > 0 {
		l.start = len(l.buf)
		l.flush()
		_, _ = l.w.Write(p[:n])
		l.begin(0)
	}
	return n
}
