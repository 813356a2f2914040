package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxQuoted  = 80      // bytes of somebody's words in a text about them
	maxCommand = 2 << 10 // bytes of a command in a text about it
)

// section is a heading, a text and a blank line; nothing where the text is
// empty.
func section(heading, text string) string {
	if text == "" {
		return ""
	}
	return heading + "\n" + endLine(text) + "\n"
}

// bracket sets off the tool's words, which may have output among them: a head,
// sections, and lines after them.
func bracket(head, sections string, lines ...string) string {
	text := "[" + head
	if sections != "" {
		text += "\n\n" + strings.TrimSuffix(sections, "\n")
	}
	for i, line := range lines {
		if i == 0 && sections == "" {
			text += "\n"
		}
		text += "\n" + line
	}
	return text + "]"
}

// endLine ends the last line of a text.
func endLine(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// count is a number of things, as in "1 line" and "2 lines".
func count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// seconds is a duration in seconds, as in 120s and 0.2s.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + "s"
}

// size is a large number of bytes for reading, as in 128.0KB.
func size(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%.1fKB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1fMB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1fGB", float64(n)/(1<<30))
}

// quote quotes a text, shortened.
func quote(s string) string { return strconv.Quote(shorten(s, maxQuoted)) }

// shorten cuts a text that has more than limit bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// oneLine makes a process's words harmless: one line, nothing but characters
// that can be seen.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
