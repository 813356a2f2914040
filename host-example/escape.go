package main

import "unicode/utf8"

// escape is where in the sequence of a key such as an arrow the input is. Such
// keys edit a line at the prompt; while a command runs they do nothing. After
// takes has reported true, noEscape means that the sequence is complete.
type escape int

const (
	noEscape      escape = iota
	escapeBegun          // after ESC
	escapeLetter         // after ESC O: one more byte
	escapeNumbers        // after ESC [: up to a letter or the like
)

// takes reports whether b belongs to such a sequence.
func (e *escape) takes(b byte) bool {
	was := *e
	*e = noEscape
	switch {
	case b == '\x1b':
		*e = escapeBegun
	case b < ' ' || b >= utf8.RuneSelf:
		return false // a key of its own: the sequence was none
	case was == escapeBegun && b == '[':
		*e = escapeNumbers
	case was == escapeBegun && b == 'O':
		*e = escapeLetter
	case was == escapeNumbers && b < '@':
		*e = escapeNumbers
	case was == noEscape:
		return false
	}
	return true
}
