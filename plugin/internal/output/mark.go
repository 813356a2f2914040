package output

import "hash/maphash"

// mark is how far Results have shown a stream: everything before pos, and size
// bytes of the line that was being written there. That line may have been
// rewritten since; its hash tells.
type mark struct {
	pos  int64
	size int
	hash uint64
}

var markSeed = maphash.MakeSeed()

// markNow marks everything as shown. mu is held.
func (s *Stream) markNow() mark {
	return mark{pos: s.tail.end, size: len(s.line), hash: maphash.Bytes(markSeed, s.line)}
}

// fresh returns where that which m has not shown begins: behind the shown part
// of the line, or at the line's beginning where the line now begins otherwise.
// mu is held.
func (s *Stream) fresh(m mark) int64 {
	behind := m.pos + int64(m.size)
	if m.size == 0 || m.pos < s.tail.start() {
		return behind
	}
	text, _ := s.text(m.pos)
	if len(text) < m.size || maphash.Bytes(markSeed, text[:m.size]) != m.hash {
		return m.pos
	}
	return behind
}
