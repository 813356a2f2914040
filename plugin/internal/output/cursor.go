package output

import "hash/maphash"

// cursor says how much of a stream Results have shown: everything before pos, and size
// bytes of the line that was being written at pos. Their hash tells later whether
// that line was rewritten.
type cursor struct {
	pos  int64
	size int
	hash uint64
	line int64 // lines before pos
}

var cursorSeed = maphash.MakeSeed()

// cursorLocked returns the cursor for everything so far.
func (s *Stream) cursorLocked() cursor {
	line := s.san.Line()
	return cursor{pos: s.tail.end, size: len(line), hash: maphash.Bytes(cursorSeed, line), line: s.lines}
}

// freshLocked returns the position of the first byte not yet shown according to c.
// That is the beginning of the line if it was rewritten, unless the line's beginning
// has left the tail already.
func (s *Stream) freshLocked(c cursor) int64 {
	if c.size > 0 && c.pos >= s.tail.start() {
		text := s.textLocked(c.pos)
		if len(text) < c.size || maphash.Bytes(cursorSeed, text[:c.size]) != c.hash {
			return c.pos
		}
	}
	return c.pos + int64(c.size)
}

// textLocked returns a copy of the stream from a position on, or from the
// beginning of the tail if that is later.
func (s *Stream) textLocked(from int64) []byte {
	line := s.san.Line()
	text := s.tail.textFrom(max(from, s.tail.start()), len(line))
	return append(text, line[min(max(0, int(from-s.tail.end)), len(line)):]...)
}
