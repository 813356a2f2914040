package output

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"bashplugin/plugin/internal/sanitize"
	"bashplugin/shared"
)

const (
	notableReach = 4 << 20 // bytes of the log searched at each end of what was cut
	notableStep  = 1 << 20 // bytes searched at a time
	notableBytes = 500     // of a line's text
)

// looksNotable matches lines that look like errors. It is slow: it is tried only on lines
// that have one of the needles, in small letters, or a place in a file.
var looksNotable = regexp.MustCompile(`(?i:error|fatal|panic|exception|traceback|failed|failure|undefined|cannot|exit status)|^E: |\bFAIL\b|^\s*\S+\.\w+:\d+:`)

var needles = []string{"error", "fatal", "panic", "exception", "traceback", "fail", "undefined", "cannot", "exit status", "\ne: "}

// notable returns those of the lines that were cut from out that look like errors.
func (v *view) notable(log *logReader, out shared.Output) []shared.Line {
	from, to := v.from+int64(len(out.Head)), v.end-int64(len(out.Content))
	end := min(to, from+notableReach)
	head, _ := searchLog(log, from, end, v.line+int64(strings.Count(out.Head, "\n")))
	if log.size() < to { // the log has stopped: the numbers of the last lines are unknown
		return head[:min(len(head), v.limits.Notable)]
	}
	tail, lines := searchLog(log, max(end, to-notableReach), to, 0)
	for i := range tail {
		tail[i].Number += v.lines + 1 - int64(strings.Count(out.Content, "\n")) - lines
	}
	all, n := slices.Concat(head, tail), v.limits.Notable
	if len(all) > n {
		all = slices.Delete(all, (n+1)/2, len(all)-n/2)
	}
	return all
}

// searchLog returns the notable lines between two positions, where number is that of the
// first line, and how many lines there are.
func searchLog(log *logReader, from, to, number int64) (found []shared.Line, lines int64) {
	for from < to {
		text := log.text(from, int(min(notableStep, to-from)))
		if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 && from+int64(len(text)) < to {
			text = text[:end]
		}
		if len(text) == 0 {
			break
		}
		found = append(found, findNotable(text, number+lines)...)
		lines += int64(bytes.Count(text, newline))
		from += int64(len(text))
	}
	return found, lines
}

// findNotable returns the notable lines of text, where number is that of the first line.
func findNotable(text []byte, number int64) (found []shared.Line) {
	folded := append(slices.Clone(newline), text...) // a first line, too, comes after a newline
	for i, c := range folded {
		if c >= 'A' && c <= 'Z' {
			folded[i] = c | 0x20
		}
	}
	var starts []int // of the lines to look at
	look := func(at int) { starts = append(starts, bytes.LastIndexByte(folded[:at], '\n')) }
	for _, needle := range needles {
		for at := 0; at < len(folded); {
			i := bytes.Index(folded[at:], []byte(needle))
			if i < 0 {
				break
			}
			look(at + i + len(needle))
			line, _, _ := bytes.Cut(folded[at+i+1:], newline)
			at += i + 1 + len(line)
		}
	}
	for at, c := range folded[:len(folded)-1] {
		if c == ':' && folded[at-1] >= 'a' && folded[at-1] <= 'z' && folded[at+1] >= '0' && folded[at+1] <= '9' {
			look(at)
		}
	}
	slices.Sort(starts)
	counted := 0
	for _, start := range slices.Compact(starts) {
		number += int64(bytes.Count(text[counted:start], newline))
		counted = start
		line, _, _ := bytes.Cut(text[start:], newline)
		if looksNotable.Match(line) {
			found = append(found, shared.Line{Number: number, Text: string(line[:sanitize.CutRune(line, notableBytes)])})
		}
	}
	return found
}
