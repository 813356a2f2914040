package output

import "hash/maphash"

// mark says how much of a stream Results have shown: everything before pos, and size
// bytes of the line that was being written at pos. Their hash tells later whether
// that line was rewritten.
type mark struct {
	pos  int64
	size int
	hash uint64
}

var markSeed = maphash.MakeSeed()

// markLocked returns the mark for everything so far.
func (s *Stream) markLocked() mark {
	line := s.san.Line()
	return mark{pos: s.tail.end, size: len(line), hash: maphash.Bytes(markSeed, line)}
}

// freshLocked returns the position of the first byte not yet shown according to m.
// That is the beginning of the line if it was rewritten, unless the line's beginning
// has left the tail already.
func (s *Stream) freshLocked(m mark) int64 {
	if m.size > 0 && m.pos >= s.tail.start() {
		text := s.textLocked(m.pos)
		if len(text) < m.size || maphash.Bytes(markSeed, text[:m.size]) != m.hash {
			return m.pos
		}
	}
	return m.pos + int64(m.size)
}

// textLocked returns a copy of the stream from a position on, or from the
// beginning of the tail if that is later.
func (s *Stream) textLocked(from int64) []byte {
	line := s.san.Line()
	text := s.tail.textFrom(max(from, s.tail.start()), len(line))
	return append(text, line[min(max(0, int(from-s.tail.end)), len(line)):]...)
}
