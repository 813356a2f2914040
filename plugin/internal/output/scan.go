package output

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Masks for eight bytes at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// cleanPrefix returns the length of the longest prefix of p that may be handed
// on as it is: printable ASCII, newlines, tabs, and whole valid runes that are
// no C1 control.
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

// cleanASCII looks at the ASCII part only.
func cleanASCII(p []byte) int {
	i := 0
	for ; len(p)-i >= 32; i += 32 {
		q := p[i : i+32 : i+32]
		if suspect(word(q))|suspect(word(q[8:]))|suspect(word(q[16:]))|suspect(word(q[24:])) == 0 {
			continue
		}
		for j := 0; j < 32; j += 8 {
			if x := word(q[j:]); suspect(x) != 0 {
				if m := dirty(x); m != 0 {
					return i + j + bits.TrailingZeros64(m)/8
				}
			}
		}
	}
	for ; len(p)-i >= 8; i += 8 {
		if m := dirty(word(p[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(p); i++ {
		if b := p[i]; (b < ' ' || b >= 0x7f) && b != '\n' && b != '\t' {
			break
		}
	}
	return i
}

func word(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

// suspect is not 0 where a byte of x is a control byte, DEL or not ASCII. It
// may be not 0 where none is.
func suspect(x uint64) uint64 {
	del := x ^ ones*0x7f
	return (x | (x - ones*' ') | (del - ones)) & highs
}

// dirty sets exactly the high bits of those bytes of x that are not printable
// ASCII, a newline or a tab.
func dirty(x uint64) uint64 {
	low := x &^ highs // so that no borrow and no carry leaves a byte
	control := ^((low | highs) - ones*' ')
	return (x | control&^equal(low, '\n')&^equal(low, '\t') | equal(low, 0x7f)) & highs
}

// equal sets the high bit of each byte of x that is b; x and b are ASCII.
func equal(x uint64, b byte) uint64 {
	return ^((x ^ ones*uint64(b)) + ones*0x7f) & highs
}

// isSimple reports whether each byte of clean text is one column: no tab,
// nothing but ASCII.
func isSimple(p []byte) bool {
	for ; len(p) >= 8; p = p[8:] {
		if x := word(p); (x|equal(x&^highs, '\t'))&highs != 0 {
			return false
		}
	}
	for _, b := range p {
		if b >= utf8.RuneSelf || b == '\t' {
			return false
		}
	}
	return true
}

// cleanRunes looks at the non-ASCII part only.
func cleanRunes(p []byte) int {
	i := 0
	for i < len(p) && p[i] >= utf8.RuneSelf {
		// Most of what is not ASCII has three bytes and is of no special range.
		if len(p)-i >= 3 && p[i] > 0xe0 && p[i] < 0xf0 && p[i] != 0xed && p[i+1]&0xc0 == 0x80 && p[i+2]&0xc0 == 0x80 {
			i += 3
			continue
		}
		n, ok := runeLen(p[i:])
		if !ok || n == 0 || p[i] == 0xc2 && p[i+1] < 0xa0 {
			break
		}
		i += n
	}
	return i
}

// runeLen returns the length of the rune that p, which does not begin with
// ASCII, begins with: 0 where p ends within it. Where p begins with none, it
// is that of the longest part that could have become one, at least 1.
func runeLen(p []byte) (n int, ok bool) {
	size, low, high := 0, byte(0x80), byte(0xbf)
	switch b := p[0]; {
	case b < 0xc2 || b > 0xf4:
		return 1, false
	case b < 0xe0:
		size = 2
	case b < 0xf0:
		size = 3
	default:
		size = 4
	}
	switch p[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	for i := 1; i < size; i++ {
		if i == len(p) {
			return 0, true
		}
		if p[i] < low || p[i] > high {
			return i, false
		}
		low, high = 0x80, 0xbf
	}
	return size, true
}
