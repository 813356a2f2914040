package output

import (
	"bytes"
	"slices"
	"strings"

	"bashplugin/shared"
)

// notable returns the lines that look like errors among those that were cut from out.
func (v *view) notable(log *logReader, out shared.Output) []shared.Line {
	from := v.from + int64(len(out.Head))
	to := v.end - int64(len(out.Content))
	first := v.line + int64(strings.Count(out.Head, "\n"))
	last := v.lines + 1 - int64(strings.Count(out.Content, "\n"))
	s := search{log: log, step: searchStep, reach: searchReach, most: v.limits.Notable}
	s.ends(from, to, first, last)
	return s.lines()
}

// errorWords make a line notable, in upper or lower case.
var errorWords = []string{"error", "fatal", "panic", "exception", "traceback", "undefined", "cannot", "exit status"}

// notableLines returns the positions of the lines that look like errors: they have one of
// errorWords or "FAIL", or begin like an error. begins says whether the text begins with a
// line, not within one.
//
// Its time is proportional to the size of the text, whatever a command writes. A regular
// expression is too slow for very long lines, and for lines that nearly match.
func notableLines(text []byte, begins bool) []int {
	folded := bytes.Clone(text)
	for i, c := range folded {
		if c >= 'A' && c <= 'Z' {
			folded[i] = c | 0x20
		}
	}
	var starts []int
	for _, word := range errorWords {
		starts = linesWith(starts, folded, word, nil)
	}
	starts = linesWith(starts, folded, "fail", func(from, to int) bool {
		rest := folded[to:]
		if bytes.HasPrefix(rest, []byte("ed")) || bytes.HasPrefix(rest, []byte("ure")) {
			return true
		}
		return string(text[from:to]) == "FAIL" && isWord(text, from, to)
	})
	starts = linesBegunLikeErrors(starts, text, begins)
	slices.Sort(starts)
	return slices.Compact(starts)
}

// linesWith appends the positions of the lines that have a mark. If accept is not nil, a mark
// counts only if accept returns true for it.
func linesWith(starts []int, text []byte, mark string, accept func(from, to int) bool) []int {
	at := 0
	for {
		i := bytes.Index(text[at:], []byte(mark))
		if i < 0 {
			return starts
		}
		from := at + i
		at = from + len(mark)
		if accept == nil || accept(from, at) {
			starts = append(starts, bytes.LastIndexByte(text[:at], '\n')+1)
			at = lineEnd(text, at)
		}
	}
}

// linesBegunLikeErrors appends the positions of the lines that begin with "E: " or with a
// place in a file.
func linesBegunLikeErrors(starts []int, text []byte, begins bool) []int {
	at := 0
	if !begins {
		at = lineEnd(text, 0)
	}
	for {
		i := bytes.IndexByte(text[at:], ':')
		if i < 0 {
			return starts
		}
		at += i + 1
		if at == len(text) || text[at] != ' ' && !isDigit(text[at]) {
			continue
		}
		start := bytes.LastIndexByte(text[:at], '\n') + 1
		end := lineEnd(text, at)
		line := text[start:end]
		if bytes.HasPrefix(line, []byte("E: ")) || isPlace(line) {
			starts = append(starts, start)
		}
		at = end
	}
}

// isPlace reports whether a line begins with a place in a file, as in "main.go:12:".
func isPlace(line []byte) bool {
	word := bytes.TrimLeft(line, " \t")
	if end := bytes.IndexAny(word, " \t"); end >= 0 {
		word = word[:end]
	}
	at := 0
	for {
		i := bytes.IndexByte(word[at:], ':')
		if i < 0 {
			return false
		}
		name := word[:at+i]
		at += i + 1
		number := len(word[at:]) - len(bytes.TrimLeft(word[at:], "0123456789"))
		base := bytes.TrimRightFunc(name, isWordRune)
		hasSuffix := len(base) < len(name) && len(base) > 1 && base[len(base)-1] == '.'
		if hasSuffix && number > 0 && at+number < len(word) && word[at+number] == ':' {
			return true
		}
	}
}

// lineEnd returns the position where the line that contains position at ends.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// isWord reports whether a part of a text is a word, not a part of one.
func isWord(text []byte, from, to int) bool {
	begins := from == 0 || !isWordRune(rune(text[from-1]))
	ends := to == len(text) || !isWordRune(rune(text[to]))
	return begins && ends
}

func isWordRune(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
