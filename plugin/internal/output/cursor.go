package output

import "hash/maphash"

// cursor says how much of a stream Results have shown: everything before pos, and the
// first size bytes of the line that was being written at pos. The hash of these bytes
// tells later whether the program has rewritten that line.
type cursor struct {
	pos  int64
	size int
	hash uint64
	line int64 // lines before pos
}

var cursorSeed = maphash.MakeSeed()

// cursorLocked returns the cursor for everything so far, with the line being written.
func (s *Stream) cursorLocked(line []byte) cursor {
	return cursor{
		pos:  s.tail.end,
		size: len(line),
		hash: maphash.Bytes(cursorSeed, line),
		line: s.lines,
	}
}

// freshLocked returns the position of the first byte not yet shown according to c. If the
// line at c.pos was rewritten, all of that line counts as not yet shown, unless its
// beginning has left the tail already.
func (s *Stream) freshLocked(c cursor, line []byte) int64 {
	if c.size > 0 && c.pos >= s.tail.start() {
		text := s.textLocked(c.pos, line)
		if len(text) < c.size || maphash.Bytes(cursorSeed, text[:c.size]) != c.hash {
			return c.pos
		}
	}
	return c.pos + int64(c.size)
}

// textLocked returns a copy of the stream from a position on, or from the
// beginning of the tail if that is later, with the line being written.
func (s *Stream) textLocked(from int64, line []byte) []byte {
	text := s.tail.textFrom(max(from, s.tail.start()), len(line))
	skip := max(0, int(from-s.tail.end))
	skip = min(skip, len(line))
	return append(text, line[skip:]...)
}
