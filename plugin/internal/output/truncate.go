package output

import (
	"bytes"
	"unicode/utf8"

	"bashplugin/plugin/internal/sanitize"
)

// Values of shared.Output.TruncatedBy.
const (
	byLines = "lines"
	byBytes = "bytes"
)

// cut is the end of a text that fits its limits.
type cut struct {
	from    int  // position of the first byte kept
	mid     bool // the kept text begins within a line
	partial bool // only one line's end is kept

	// by is the limit that was reached first, looking back from the end. It is "" if
	// nothing was cut.
	by string
}

// cutTail finds the longest suffix of text that has at most maxLines lines
// (negative: no limit) and at most maxBytes bytes and begins at the beginning of a
// line. If whole lines would leave more than half of maxBytes unused, cutTail also
// keeps the end of the line before them, from the first whole rune on. A newline
// counts as part of the line that it ends.
//
// whole says that text begins at the beginning of the part to show; otherwise
// earlier bytes are missing and text may begin within a line.
func cutTail(text []byte, whole bool, maxLines, maxBytes int) cut {
	from := len(text)
	lines := 0
	for from > 0 {
		if lines == maxLines {
			return cut{from: from, by: byLines}
		}
		start := bytes.LastIndexByte(text[:from-1], '\n') + 1
		fits := len(text)-start <= maxBytes
		isWhole := start > 0 || whole
		if !fits || !isWhole {
			if lines > 0 && len(text)-from >= maxBytes/2 {
				return cut{from: from, by: byBytes}
			}
			from = runeStart(text, max(0, len(text)-maxBytes))
			return cut{from: from, by: byBytes, mid: true, partial: lines == 0}
		}
		from = start
		lines++
	}
	return cut{}
}

// cutHead returns the length of the longest beginning of text that has at most maxBytes
// bytes and ends at the end of a line. If whole lines would leave more than half of maxBytes
// unused, it also has the beginning of the line after them, up to a whole rune.
func cutHead(text []byte, maxBytes int) int {
	n := sanitize.CutRune(text, maxBytes)
	lines := bytes.LastIndexByte(text[:n], '\n') + 1
	if lines > 0 && lines >= maxBytes/2 {
		return lines
	}
	return n
}

// runeStart returns the position of the first rune that starts at i or later.
func runeStart(text []byte, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}

// countLines counts lines; a line without a newline at the end is one too.
func countLines(text []byte) int {
	n := bytes.Count(text, newline)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

var newline = []byte{'\n'}
