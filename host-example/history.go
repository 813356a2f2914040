package main

import "unicode/utf8"

// history is the lines of a session, the newest last. It implements
// term.History.
type history struct{ lines []string }

const maxHistory = 1000

// Add leaves out empty lines, repetitions, and what did not fit the editor.
func (h *history) Add(line string) {
	if line == "" || len(h.lines) > 0 && line == h.lines[len(h.lines)-1] || utf8.RuneCountInString(line) >= editorRoom {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = h.lines[1:]
	}
}

// Len returns the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At returns a line, the newest for 0.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
