package main

import (
	"bytes"
	"unicode/utf8"
)

// keys makes of what a terminal sends what the line editor understands. The
// editor itself takes everything up to the next letter for the rest of a
// sequence that it does not know, whatever keys that are, and drops what it
// cannot show.
//
// The zero value is ready.
type keys struct {
	escape   escape
	sequence []byte // that has begun
	out      []byte // for the editor

	interrupted bool // Ctrl-C ended the line
}

// maxSequence is longer than that of any key.
const maxSequence = 32

// clearLine is what Ctrl-C stands for in the editor: go to the end, erase to
// the beginning, enter.
const clearLine = "\x05\x15\r"

// sequences is what the editor has of the keys that come as more than one
// byte. The others do nothing.
var sequences = map[string]string{
	"\x1b[A": "\x1b[A", "\x1bOA": "\x1b[A", // up
	"\x1b[B": "\x1b[B", "\x1bOB": "\x1b[B", // down
	"\x1b[C": "\x1b[C", "\x1bOC": "\x1b[C", // right
	"\x1b[D": "\x1b[D", "\x1bOD": "\x1b[D", // left
	"\x1b[H": "\x1b[H", "\x1bOH": "\x1b[H", "\x1b[1~": "\x1b[H", "\x1b[7~": "\x1b[H", // home
	"\x1b[F": "\x1b[F", "\x1bOF": "\x1b[F", "\x1b[4~": "\x1b[F", "\x1b[8~": "\x1b[F", // end
	"\x1b[3~":   "\x1b[3~",                                                   // delete
	"\x1b[1;5C": "\x1b[1;3C", "\x1b[1;3C": "\x1b[1;3C", "\x1bf": "\x1b[1;3C", // a word to the right
	"\x1b[1;5D": "\x1b[1;3D", "\x1b[1;3D": "\x1b[1;3D", "\x1bb": "\x1b[1;3D", // a word to the left
	"\x1b\x7f": "\x17", // delete a word
}

// tabSign is what the editor has for a tab, which it cannot show.
const tabSign = "␉"

// substitute stands for bytes that are no character, and for U+FFFD, which the
// editor takes for such. It means nothing to bash: a question mark may be any
// file.
const substitute = "␦"

// take takes what was typed, to the end of a line at most, and returns what is
// left: what comes next may be keys for the command in that line.
func (k *keys) take(typed []byte) []byte {
	for len(typed) > 0 {
		b := typed[0]
		if !k.escape.takes(b) {
			k.sequence = k.sequence[:0]
			size := k.plain(typed)
			if size == 0 {
				return typed
			}
			typed = typed[size:]
			if k.isWhole() {
				return typed
			}
			continue
		}
		if b == '\x1b' {
			k.sequence = k.sequence[:0]
		}
		if len(k.sequence) < maxSequence {
			k.sequence = append(k.sequence, b)
		}
		if k.escape == noEscape {
			k.out = append(k.out, sequences[string(k.sequence)]...)
		}
		typed = typed[1:]
	}
	return nil
}

// isWhole reports whether the line that the editor is about to get has its end.
func (k *keys) isWhole() bool {
	return len(k.out) > 0 && bytes.IndexByte([]byte("\r\n"), k.out[len(k.out)-1]) >= 0
}

// plain takes what is no sequence, and returns its length: 0 where the rest of
// a character is still to come.
func (k *keys) plain(typed []byte) int {
	switch typed[0] {
	case ctrlC:
		k.out = append(k.out, clearLine...)
		k.interrupted = true
		return 1
	case '\t': // of text that was pasted
		k.out = append(k.out, tabSign...)
		return 1
	}
	r, size := utf8.DecodeRune(typed)
	switch {
	case r == utf8.RuneError && size == 1 && !utf8.FullRune(typed):
		return 0
	case r == utf8.RuneError:
		k.out = append(k.out, substitute...)
	case r < 0x80 || r >= 0xa0:
		k.out = append(k.out, typed[:size]...)
	}
	return size
}

// read gives the editor what it has room for.
func (k *keys) read(p []byte) int {
	n := copy(p, k.out)
	k.out = append(k.out[:0], k.out[n:]...)
	return n
}
