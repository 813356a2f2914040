package main

import (
	"bytes"
	"slices"
)

// skipEnd ends the line that stands in a live copy for bytes left out.
const skipEnd = " bytes skipped …]\n"

// skipWatch looks for that line in a stream. The zero value is ready.
type skipWatch struct {
	seen bool
	last []byte // of the stream, shorter than skipEnd
}

// look takes the next bytes of the stream.
func (w *skipWatch) look(p []byte) {
	if w.seen {
		return
	}
	seam := slices.Concat(w.last, p[:min(len(p), len(skipEnd)-1)])
	w.seen = bytes.Contains(seam, []byte(skipEnd)) || bytes.Contains(p, []byte(skipEnd))
	if len(p) < len(skipEnd)-1 {
		p = seam
	}
	w.last = bytes.Clone(p[max(0, len(p)-len(skipEnd)+1):])
}
