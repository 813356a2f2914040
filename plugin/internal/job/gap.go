package job

import (
	"bytes"
	"fmt"
)

// gap is what was left out of a track's copy since the last that is in it. The
// zero value is none. Its end is kept, where a command says what became of it.
type gap struct {
	size int64  // of all of it
	end  []byte // the last of it, at most gapEnd
}

const (
	gapEnd  = 4 << 10
	gapText = gapEnd + 64 // of text, at most
)

func (g *gap) isEmpty() bool { return g.size == 0 }

func (g *gap) add(p []byte) {
	g.size += int64(len(p))
	g.end = lastOf(g.end, p, min(gapEnd, len(g.end)+len(p)))
}

// text returns what stands for the gap: a marker, unless its end is all of it, and
// its end, from the beginning of a line on where there is one.
func (g *gap) text() []byte {
	end := g.end
	if g.size == int64(len(end)) {
		return end
	}
	if _, after, found := bytes.Cut(end, []byte("\n")); found && len(after) > 0 {
		end = after
	}
	return append(marker(g.size-int64(len(end))), end...)
}

func (g *gap) close() { *g = gap{} }

// marker stands for bytes that are not in a live copy.
func marker(skipped int64) []byte {
	return fmt.Appendf(nil, "\n[… %d bytes skipped …]\n", skipped)
}
