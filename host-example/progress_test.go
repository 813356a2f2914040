package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Wherever output is cut into notifications, no part of an escape sequence is text.
func TestProgressOfOutputInPieces(t *testing.T) {
	t.Parallel()
	const output = "\x1b[1mred\x1b[m \x1b[38;5;196mé😀\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\a\r\nnext\tline\n"
	const want = "red é😀link\nnext\tline\n"
	for size := range len(output) {
		var shown strings.Builder
		live := new(progress)
		for rest := output; rest != ""; rest = rest[min(size+1, len(rest)):] {
			_, _ = live.Write([]byte(rest[:min(size+1, len(rest))]))
			shown.WriteString(live.take(false))
		}
		shown.WriteString(live.take(true))
		assert.Equal(t, want, shown.String(), "%d bytes at a time", size+1)
	}
}

func TestProgressShowsTheLastStateOfALine(t *testing.T) {
	t.Parallel()
	live := new(progress)
	_, _ = live.Write([]byte("begin\n10%\r20%\r"))
	assert.Equal(t, "begin\n20%", live.take(false))
	_, _ = live.Write([]byte("30%\r100%\r\nend \x1b[1"))
	assert.Equal(t, "100%\nend ", live.take(false))
	assert.Empty(t, live.take(false))
	assert.Empty(t, live.take(true))
}
