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

// isBehind reports whether the log alone can tell what became of the line. mu
// is held.
func (s *Stream) isBehind(m mark) bool { return m.size > 0 && m.pos < s.tail.start() }

// fresh returns where that which m has not shown begins: behind the shown part
// of the line, or at the line's beginning where the line now begins otherwise.
// Where m isBehind the log must be up to date, and m is without a line from then
// on. mu is held.
func (s *Stream) fresh(m *mark) int64 {
	behind := m.pos + int64(m.size)
	switch {
	case m.size == 0:
	case s.isBehind(*m):
		if text := s.readLog(m.pos, m.size); len(text) == m.size && !m.showed(text) {
			behind = m.pos
		}
		*m = mark{pos: behind}
	default:
		if text, _ := s.text(m.pos); len(text) < m.size || !m.showed(text[:m.size]) {
			return m.pos
		}
	}
	return behind
}

// showed reports whether the line that m has shown was this.
func (m *mark) showed(line []byte) bool { return maphash.Bytes(markSeed, line) == m.hash }
