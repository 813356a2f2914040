package sanitize

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Masks for eight bytes at a time. Only a byte that is not ASCII can carry into the
// bytes after it, so the first byte that dirty marks is always right.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// cleanPrefix returns the length of the longest prefix of p that may be handed
// on unchanged: printable ASCII, newlines, tabs, and whole valid runes except C1
// controls.
func cleanPrefix(p []byte) int {
	i := 0
	for {
		i += cleanASCII(p[i:])
		n := cleanRunes(p[i:])
		if n == 0 {
			return i
		}
		i += n
	}
}

// cleanASCII is cleanPrefix for ASCII only.
func cleanASCII(p []byte) int {
	i := 0
	for ; len(p)-i >= 32; i += 32 {
		q := p[i : i+32 : i+32]
		found := dirty(binary.LittleEndian.Uint64(q)) |
			dirty(binary.LittleEndian.Uint64(q[8:])) |
			dirty(binary.LittleEndian.Uint64(q[16:])) |
			dirty(binary.LittleEndian.Uint64(q[24:]))
		if found != 0 {
			break
		}
	}
	for ; len(p)-i >= 8; i += 8 {
		if found := dirty(binary.LittleEndian.Uint64(p[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(p) && isClean(p[i]) {
		i++
	}
	return i
}

// isClean reports whether b is printable ASCII, a newline or a tab.
func isClean(b byte) bool {
	return b >= ' ' && b < 0x7f || b == '\n' || b == '\t'
}

// dirty is isClean for eight bytes: it sets the high bit of the first byte that is not
// clean.
func dirty(x uint64) uint64 {
	control := ^(x + (0x80-' ')*ones)
	other := ^(x + (0x80-'\t')*ones) | (x + (0x7f-'\n')*ones) // than \t and \n
	return (x | (x + ones) | control&other) & highs
}

// cleanRunes is cleanPrefix for runes that are not ASCII.
func cleanRunes(p []byte) int {
	i := 0
	for i < len(p) && p[i] >= utf8.RuneSelf {
		if len(p)-i >= 4 && common(binary.LittleEndian.Uint32(p[i:])) {
			i += 3
			continue
		}
		r, n := utf8.DecodeRune(p[i:])
		if n == 1 || r < 0xa0 {
			break
		}
		i += n
	}
	return i
}

// common reports whether x begins with a valid rune of three bytes. It is false for the
// runes that begin with special bytes, though they may be valid.
func common(x uint32) bool {
	return x&0xc0c0f0 == 0x8080e0 && special>>(x&15)&1 == 0
}

// special has a bit for 0xe0 and one for 0xed: after these, only some second bytes are
// valid.
const special = 1<<0x0 | 1<<0xd

// runeLen returns the length of the rune at the beginning of p, which is not ASCII,
// or 0 if p ends within it. If there is no rune, ok is false, and n is the length of
// the longest part that could have become one, at least 1.
func runeLen(p []byte) (n int, ok bool) {
	if !utf8.FullRune(p) {
		return 0, true
	}
	_, n = utf8.DecodeRune(p)
	if n > 1 {
		return n, true
	}
	for !utf8.FullRune(p[:n]) {
		n++
	}
	return max(n-1, 1), false
}

// asciiPrefix returns the length of the printable ASCII at the beginning of p.
func asciiPrefix(p []byte) int {
	n := 0
	for n < len(p) && p[n] >= ' ' && p[n] < 0x7f {
		n++
	}
	return n
}

// barPrefix counts the boxes and blocks (U+2500 to U+25BF) at the beginning of p.
// Programs draw bars with them. They have one column each.
func barPrefix(p []byte) int {
	n := 0
	for len(p) > 2 && p[0] == 0xe2 && p[1]-0x94 < 3 && p[2]&0xc0 == 0x80 {
		p = p[3:]
		n++
	}
	return n
}

// width returns how many columns a printable rune, encoded in p, has: 0, 1 or 2.
func width(r rune, p []byte) int {
	switch {
	case r < 0x300 && r != 0xad, r >= 0x370 && r < 0x483, r == utf8.RuneError:
		return 1 // Latin, Greek, Cyrillic
	case r >= 0x300 && r < 0x370:
		return 0 // accents
	case r >= 0x2500 && r < 0x25c0, r >= 0x2800 && r < 0x2900:
		return 1 // the characters of bars: boxes, blocks, braille
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4:
		return 2 // Han, Hangul
	case r >= 0x3041 && r < 0x3097, r >= 0x30a1 && r < 0x30fb:
		return 2 // Hiragana, Katakana
	}
	_, n := ansi.FirstGraphemeCluster(p, ansi.WcWidth)
	return min(n, 2)
}
