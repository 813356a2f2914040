package job

import (
	"bytes"
	"unicode/utf8"
)

// backlogSize is how many bytes wait at most. If there are more, only the last
// backlogSize/2 of them are kept.
const backlogSize = 128 << 10

// backlog is output that a screen has not drawn yet.
type backlog []byte

// cancel takes the place of skipped bytes. It ends the control sequence, or the character of up to
// four bytes, that the skip may have cut.
const cancel = "\x18\x18\x18\x18"

// put adds output. If it skips bytes, it also skips those after them up to a CR or a control
// sequence or, if there is none, up to a whole character.
func (b *backlog) put(p []byte) {
	*b = append(*b, p...)
	if len(*b) <= backlogSize {
		return
	}
	last := (*b)[len(*b)-backlogSize/2:]
	begin := bytes.IndexAny(last, "\r\x1b")
	if begin < 0 {
		begin = bytes.IndexFunc(last, func(r rune) bool { return r != utf8.RuneError })
	}
	*b = append((*b)[:0], cancel...)
	*b = append(*b, last[max(0, begin):]...)
}

// take removes everything.
func (b *backlog) take() []byte {
	all := *b
	*b = nil
	return all
}

// scroll scrolls away all that a screen shows, and moves the cursor to the first row.
const scroll = "\x1b[9999S\x1b[9999A"

// visible returns p without lines that scroll away. p begins outside control sequences. If p
// has at least twice as many lines as the screen has rows, nothing that was there before is
// left on the screen, wherever in the scrolling region the cursor was.
func visible(p []byte, rows int) []byte {
	kept := lastLines(p, rows)
	if lastLines(p[:kept], rows) == 0 || !isLines(p[:kept]) {
		return p
	}
	return append([]byte(scroll), p[kept:]...)
}

// lastLines returns the position of the line break before the last count lines of p, 0 if
// there are fewer lines.
func lastLines(p []byte, count int) int {
	begin := len(p)
	for range count {
		begin = max(0, bytes.LastIndex(p[:begin], []byte("\r\n")))
	}
	return begin
}

// isLines reports whether all control sequences of p colour text or erase in their line.
func isLines(p []byte) bool {
	for {
		i := bytes.IndexByte(p, '\x1b')
		if i < 0 {
			return true
		}
		p = p[i+1:]
		rest, isControl := bytes.CutPrefix(p, []byte("["))
		rest = bytes.TrimLeft(rest, "0123456789:;")
		if !isControl || len(rest) == 0 || rest[0] != 'm' && rest[0] != 'K' {
			return false
		}
	}
}
