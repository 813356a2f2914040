package output

// tail keeps the last bytes of a stream. Positions count from the beginning of the
// stream, so that start tells a reader whether it fell behind. Memory grows with the
// stream up to max and then stays the same.
type tail struct {
	buf []byte // a ring once len(buf) == max; the byte at position p is buf[p%len(buf)]
	max int
	end int64 // bytes ever written
}

const minTail = 4 << 10 // first allocation

// start is the position of the oldest byte kept.
func (t *tail) start() int64 { return max(0, t.end-int64(len(t.buf))) }

// endsInNewline is false if nothing was written.
func (t *tail) endsInNewline() bool {
	return t.end > 0 && t.buf[(t.end-1)%int64(len(t.buf))] == '\n'
}

func (t *tail) write(p []byte) {
	t.grow(len(p))
	size := len(t.buf)
	if skip := len(p) - size; skip > 0 {
		t.end += int64(skip)
		p = p[skip:]
	}
	for len(p) > 0 {
		n := copy(t.buf[t.end%int64(size):], p)
		t.end += int64(n)
		p = p[n:]
	}
}

// grow makes room for n more bytes. Until max is reached nothing has been
// overwritten, so that the content starts at the buffer's beginning.
func (t *tail) grow(n int) {
	need := t.end + int64(n)
	if need <= int64(len(t.buf)) || len(t.buf) == t.max {
		return
	}
	size := max(len(t.buf), min(minTail, t.max))
	for int64(size) < need && size < t.max {
		size *= 2
	}
	buf := make([]byte, min(size, t.max))
	copy(buf, t.buf[:t.end])
	t.buf = buf
}

// textFrom returns a copy of the bytes from a position on, with room for more.
// The caller makes sure that the position is not before start.
func (t *tail) textFrom(from int64, room int) []byte {
	n := max(0, int(t.end-from))
	text := make([]byte, 0, n+room)
	for len(text) < n {
		i := from % int64(len(t.buf))
		part := t.buf[i:min(i+t.end-from, int64(len(t.buf)))]
		text = append(text, part...)
		from += int64(len(part))
	}
	return text
}
