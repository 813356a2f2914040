package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// maxQuoted is how many bytes of an argument or a command line a text quotes.
	maxQuoted = 80

	// maxCommand is how many bytes of a command the text about it has.
	maxCommand = 2 << 10
)

// section is a heading, a text and a blank line; "" if the text is empty.
func section(heading, text string) string {
	if text == "" {
		return ""
	}
	return heading + "\n" + endLine(text) + "\n"
}

// bracket puts brackets around a text, as around every text that is the tool's own and not
// the command's.
func bracket(text string) string { return "[" + text + "]" }

// block is a text in brackets: a head, and after a blank line sections of output and lines.
func block(head, sections string, lines ...string) string {
	if sections != "" {
		lines = append([]string{withoutNewline(sections)}, lines...)
	}
	if len(lines) > 0 {
		head += "\n\n" + strings.Join(lines, "\n")
	}
	return bracket(head)
}

// join joins the texts that are not empty.
func join(separator string, texts ...string) string {
	isEmpty := func(text string) bool { return text == "" }
	return strings.Join(slices.DeleteFunc(texts, isEmpty), separator)
}

// endLine adds a newline to a text that does not end in one.
func endLine(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// count is a number of things, as in "1 line" and "2 lines".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// lineCount counts lines; one without a newline at the end is one, too.
func lineCount(text string) int { return len(slices.Collect(strings.Lines(text))) }

// withoutNewline removes the newline at the end of a text.
func withoutNewline(text string) string { return strings.TrimSuffix(text, "\n") }

// seconds is a duration in seconds, as in 120s and 0.2s.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + "s"
}

// quote quotes a text, shortened.
func quote(s string) string { return strconv.Quote(shorten(s, maxQuoted)) }

// shorten cuts a text to limit bytes and an ellipsis.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// oneLine replaces newlines and unprintable characters by spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
