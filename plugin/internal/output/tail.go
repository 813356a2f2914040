package output

// tail keeps the last bytes of a stream. Positions count from the beginning of the
// stream, so that start tells a reader whether it fell behind. Memory grows with the
// stream until buf has max bytes and then stays the same.
type tail struct {
	// buf becomes a ring once it has max bytes. The byte at position p is buf[p%len(buf)].
	buf []byte
	max int
	end int64 // bytes ever written
}

// start is the position of the oldest byte kept.
func (t *tail) start() int64 { return t.end - int64(len(t.buf)) }

// endsInNewline is false if nothing was written.
func (t *tail) endsInNewline() bool {
	return t.end > 0 && t.buf[(t.end-1)%int64(len(t.buf))] == '\n'
}

func (t *tail) write(p []byte) {
	added := min(len(p), t.max-len(t.buf)) // this many bytes overwrite nothing
	t.buf = append(t.buf, p[:added]...)
	skip := max(added, len(p)-t.max)
	t.end += int64(skip)
	p = p[skip:]
	for len(p) > 0 {
		n := copy(t.buf[t.end%int64(t.max):], p)
		t.end += int64(n)
		p = p[n:]
	}
}

// textFrom returns a copy of the bytes from a position on, with room for more.
// The caller makes sure that the position is not before start.
func (t *tail) textFrom(from int64, room int) []byte {
	n := max(0, int(t.end-from))
	text := make([]byte, 0, n+room)
	for len(text) < n {
		i := from % int64(len(t.buf))
		last := min(i+t.end-from, int64(len(t.buf)))
		part := t.buf[i:last]
		text = append(text, part...)
		from += int64(len(part))
	}
	return text
}
