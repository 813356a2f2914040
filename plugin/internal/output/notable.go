package output

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"bashplugin/plugin/internal/sanitize"
	"bashplugin/shared"
)

const (
	notableReach = 16 << 20 // bytes of the log searched at each end of what was cut
	notableStep  = 1 << 20  // bytes searched at a time
	notableBytes = 500      // of a line's text
)

// looksNotable matches lines that look like errors. A regular expression is slow: it is
// tried only on lines in which inWord or inPlace finds something.
var looksNotable = regexp.MustCompile(`(?i:error|fatal|panic|exception|traceback|failed|failure|undefined|cannot|exit status)|^E: |\bFAIL\b|^\s*\S+\.\w+:\d+:`)

// words are the beginnings of the words in looksNotable.
var words = []string{"error", "fatal", "panic", "excep", "trace", "faile", "failu", "undef", "canno", "exit ", "fail ", "fail\t", "fail\n", "fail:"}

// An index finds words fast. It has all three bytes in a row of each, by their hash, so
// that every third position of a text is enough to look at, and the words, folded.
type index struct {
	grams  [1 << 14]uint32
	folded []uint64
}

var theIndex = sync.OnceValue(func() *index {
	table := new(index)
	add := func(text string) {
		for i := range len(text) - 2 {
			three, slot := gram([]byte(text[i:] + " "))
			if old := table.grams[slot]; old != 0 && old != three {
				three = anyGram
			}
			table.grams[slot] = three
		}
	}
	for _, word := range words {
		table.folded = append(table.folded, fold([]byte(word)))
		add(word)
		add(strings.ToUpper(word))
		add(strings.ToUpper(word[:1]) + word[1:])
	}
	return table
})

const anyGram = 1 // in a slot of several grams

// gram returns the first three of four bytes, and their hash.
func gram(p []byte) (three, slot uint32) {
	three = binary.LittleEndian.Uint32(p) << 8
	return three, three * 0x9E3779B1 >> 18
}

// fold returns five bytes as a number, the same for capital and small letters.
func fold(p []byte) (five uint64) {
	for _, c := range p[:5] {
		five = five<<8 | uint64(c|0x20)
	}
	return five
}

// inWord returns a position in the first line that may have a word of looksNotable, -1 if
// there is none.
func inWord(text []byte) int {
	for table, i := theIndex(), 0; i+4 <= len(text); i += 3 {
		three, slot := gram(text[i:])
		if found := table.grams[slot]; found != 0 && (found == three || found == anyGram) {
			for start := max(0, i-2); start <= i && start+5 <= len(text); start++ {
				if slices.Contains(table.folded, fold(text[start:])) {
					return i + 2
				}
			}
		}
	}
	return -1
}

// inPlace is inWord for lines with a place in a file, as in "main.go:12:", and for "E:".
func inPlace(text []byte) int {
	for i := 0; ; i++ {
		next := bytes.IndexByte(text[i:], ':')
		if i += next; next < 0 || i+1 >= len(text) {
			return -1
		}
		before, after := text[max(0, i-1)], text[i+1]
		if before == 'E' && (i == 1 || text[max(0, i-2)] == '\n') || before|0x20 >= 'a' && before|0x20 <= 'z' && after >= '0' && after <= '9' {
			return i
		}
	}
}

// findNotable returns the lines of text that look like errors, where number is that of the first line.
func findNotable(text []byte, number int64) (lines []shared.Line) {
	for _, find := range []func([]byte) int{inWord, inPlace} {
		number, begin := number, 0
		for at, i := 0, find(text); i >= 0; i = find(text[at:]) {
			start := bytes.LastIndexByte(text[:at+i], '\n') + 1
			number += int64(bytes.Count(text[begin:start], newline))
			line, _, _ := bytes.Cut(text[start:], newline)
			begin, at = start, min(start+len(line)+1, len(text))
			if looksNotable.Match(line) {
				lines = append(lines, shared.Line{Number: number, Text: string(line[:sanitize.CutRune(line, notableBytes)])})
			}
		}
	}
	slices.SortFunc(lines, func(a, b shared.Line) int { return cmp.Compare(a.Number, b.Number) })
	return slices.Compact(lines)
}

// notable returns up to n lines between two positions of a log that look like errors: the
// first ones and the last ones. first is the number of the line at from, last of that at to.
func notable(path string, n int, from, to, first, last int64) []shared.Line {
	half := (n + 1) / 2
	if info, err := os.Stat(path); err != nil || info.Size() < to { // the log has stopped: the number of its last line is unknown
		half = n
	}
	var head, tail []shared.Line
	for limit := min(to, from+notableReach); from < limit && len(head) < half; {
		text := readLog(path, from, int(min(notableStep, limit-from)))
		if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 && from+int64(len(text)) < limit {
			text = text[:end]
		}
		if len(text) == 0 {
			break
		}
		head = append(head, findNotable(text, first)...)
		first += int64(bytes.Count(text, newline))
		from += int64(len(text))
	}
	for limit := max(from, to-notableReach); to > limit && len(tail) < n-half; {
		at := max(limit, to-notableStep)
		text := readLog(path, at, int(to-at))
		if begin := bytes.IndexByte(text, '\n') + 1; at > limit && begin < len(text) {
			text = text[begin:]
		}
		to -= int64(len(text))
		last -= int64(bytes.Count(text, newline))
		tail = append(findNotable(text, last), tail...)
		if len(text) == 0 {
			break
		}
	}
	if all := append(head, tail...); len(all) > n {
		return append(all[:half:half], all[len(all)-(n-half):]...)
	}
	return append(head, tail...)
}

// notable returns those of the lines that were cut from out.
func (v *view) notable(path string, out shared.Output) []shared.Line {
	first := v.line + int64(strings.Count(out.Head, "\n"))
	last := v.lines + 1 - int64(strings.Count(out.Content, "\n"))
	return notable(path, v.limits.Notable, v.from+int64(len(out.Head)), v.end-int64(len(out.Content)), first, last)
}
