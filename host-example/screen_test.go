package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The indicator goes where it can be taken away again without a trace.
func TestWhereTheIndicatorGoes(t *testing.T) {
	const width = 20
	for name, c := range map[string]struct{ output, drawn string }{
		"below a complete line":           {"one\n", saveCursor},
		"below colours alone":             {"one\n\x1b[m", saveCursor},
		"below an unfinished line":        {"Password: ", lineBelow},
		"below a line of more than one":   {strings.Repeat("x", width+5), lineBelow},
		"below a bar":                     {"50%\r", lineBelow},
		"below a line of a tab":           {"\t", lineBelow},
		"not where tabs fill the line":    {"\t\t\tx", ""},
		"not where the line is full":      {strings.Repeat("x", width), ""},
		"not where two lines are full":    {strings.Repeat("語", width), ""},
		"not where nobody knows the line": {strings.Repeat("x", 2*maxColumns), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var to strings.Builder
			s := newScreen(&to, func() int { return width })
			s.begin(time.Now(), true)
			_, _ = s.Write([]byte(c.output))
			to.Reset()
			s.indicate(time.Now().Add(2*silence), "")
			drawn := to.String()
			if c.drawn == "" {
				assert.Empty(t, drawn)
				return
			}
			assert.True(t, strings.HasPrefix(drawn, c.drawn+"\x1b[0;2m["), "%q", drawn)
			to.Reset()
			_, _ = s.Write([]byte("X"))
			assert.Equal(t, eraseLine+"X", to.String())
		})
	}
}

// A note of somebody else's does not go into the middle of a line, or count.
func TestNotesOnTheScreen(t *testing.T) {
	var to strings.Builder
	s := newScreen(&to, func() int { return 80 })
	_, _ = s.Write([]byte("half"))
	assert.NoError(t, s.note([]byte("a log line\n")))
	_, _ = s.Write([]byte("rest\n"))
	s.end()
	assert.Equal(t, "half\r\na log line\r\nrest\r\n", to.String())
	assert.EqualValues(t, len("halfrest\n"), s.bytes)
}
