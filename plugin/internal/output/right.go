package output

// spaces stand where a tab or one half of a wide rune was.
const spaces = "        "

// right is the text right of the cursor. It lies at the end of its buffer, so
// that moves take it from the front and put it back there.
type right struct {
	buf   []byte
	at    int // where the text begins
	width int // its columns
}

func (r *right) text() []byte { return r.buf[r.at:] }

func (r *right) clear() { r.at, r.width = len(r.buf), 0 }

// push puts text of so many columns before what is there.
func (r *right) push(p []byte, columns int) {
	r.reserve(len(p))
	r.at -= copy(r.buf[r.at-len(p):], p)
	r.width += columns
}

// pushByte puts n times the same ASCII byte before what is there.
func (r *right) pushByte(b byte, n int) {
	r.reserve(n)
	for range n {
		r.at--
		r.buf[r.at] = b
	}
	r.width += n
}

// reserve makes room for n bytes in front.
func (r *right) reserve(n int) {
	if r.at >= n {
		return
	}
	text := r.text()
	buf := make([]byte, max(2*len(r.buf), len(text)+n+minRight))
	at := len(buf) - len(text)
	copy(buf[at:], text)
	r.buf, r.at = buf, at
}

const minRight = 128 // bytes: a progress bar fits

// take removes n columns, the first of which is at column. What is left of a
// wide rune or a tab is spaces. Marks go with the rune that they stand on.
func (r *right) take(n, column int) {
	if n == 0 {
		return
	}
	if n >= r.width {
		r.clear()
		return
	}
	text := r.text()
	size, end := upTo(column+n, column, text)
	over := 0
	if end < column+n {
		length, width := cell(text[size:], end)
		size += length
		over = end + width - (column + n)
	}
	size += marks(text[size:])
	r.at += size
	r.width -= n + over
	r.push([]byte(spaces[:over]), over)
}
