package sanitize

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// width returns how many columns a printable rune, encoded in p, has: 0, 1 or 2.
func width(r rune, p []byte) int {
	switch {
	case r < 0x300 && r != 0xad, r >= 0x2500 && r < 0x25c0, r >= 0x2800 && r < 0x2900, r == utf8.RuneError:
		return 1 // Latin, and what bars are made of: boxes, blocks, braille
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4, r >= 0x3041 && r < 0x3097, r >= 0x30a1 && r < 0x30fb:
		return 2
	}
	_, n := ansi.FirstGraphemeCluster(p, ansi.WcWidth)
	return min(n, 2)
}

// barPrefix returns how many runes p begins with that are boxes or blocks (U+2500
// to U+25BF), which bars are drawn with. They have one column each.
func barPrefix(p []byte) int {
	n := 0
	for len(p) > 2 && p[0] == 0xe2 && p[1]-0x94 < 3 {
		p = p[3:]
		n++
	}
	return n
}
