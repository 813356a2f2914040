package output

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const tabStop = 8

// advance returns the column behind text that begins at a column.
func advance(column int, p []byte) int {
	for len(p) > 0 {
		if n := singlePrefix(p); n > 0 {
			column += n
			p = p[n:]
		}
		for len(p) > 2 && p[0] == 0xe2 && p[1]-0x94 < 3 { // U+2500…25BF: boxes and blocks
			column++
			p = p[3:]
		}
		for len(p) > 2 && p[0]-0xe5 < 5 { // U+5000…9FFF: ideographs
			column += 2
			p = p[3:]
		}
		for len(p) > 2 && p[0] == 0xef && p[1] == 0xbf && p[2] == 0xbd { // replacements
			column++
			p = p[3:]
		}
		if len(p) > 0 && (p[0] == '\t' || p[0] >= utf8.RuneSelf) {
			size, width := cell(p, column)
			column += width
			p = p[size:]
		}
	}
	return column
}

// upTo returns how much of text that begins at a column fits before another
// column, with the marks on its last cell, and the column behind that.
func upTo(to, column int, p []byte) (n, end int) {
	for n < len(p) {
		if single := singlePrefix(p[n:min(len(p), n+to-column)]); single > 0 {
			n += single
			column += single
			continue
		}
		size, width := cell(p[n:], column)
		if width > to-column {
			break
		}
		n += size
		column += width
	}
	return n, column
}

// singlePrefix returns how many bytes p begins with that have a column each:
// ASCII other than tabs.
func singlePrefix(p []byte) int {
	i := 0
	for ; len(p)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(p[i:])
		if found := (x | ^((x ^ '\t'*ones) + 0x7f*ones)) & highs; found != 0 {
			return i + first(found)
		}
	}
	for i < len(p) && p[i] < utf8.RuneSelf && p[i] != '\t' {
		i++
	}
	return i
}

// cell returns the length of the rune that valid text begins with, and how
// many columns it has at a column: up to 2 where it is no tab.
func cell(p []byte, column int) (size, width int) {
	if p[0] == '\t' {
		return 1, tabStop - column%tabStop
	}
	r, size := utf8.DecodeRune(p)
	switch {
	case r < 0x300 && r != 0xad, r >= 0x2500 && r < 0x25c0, r >= 0x2800 && r < 0x2900, r == utf8.RuneError:
		return size, 1 // Latin, and what bars are made of: boxes, blocks, braille
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4, r >= 0x3041 && r < 0x3097, r >= 0x30a1 && r < 0x30fb:
		return size, 2
	}
	_, width = ansi.FirstGraphemeCluster(p[:size], ansi.WcWidth)
	return size, min(width, 2)
}

// marks returns the length of the runes without a column that p begins with.
func marks(p []byte) int {
	n := 0
	for n < len(p) && p[n] >= utf8.RuneSelf {
		size, width := cell(p[n:], 0)
		if width > 0 {
			break
		}
		n += size
	}
	return n
}
