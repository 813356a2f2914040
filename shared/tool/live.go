package tool

import (
	"errors"
	"io"
	"sync"
)

var errReturned = errors.New("the call has returned")

// gate is the way to a call's live writer, both streams of the command
// together. It shuts when the call returns, although a job goes on writing.
type gate struct {
	mu sync.Mutex // held while to is written; guards it
	to io.Writer  // nil: shut
}

// Write writes to the live writer until the call has returned.
func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.to == nil {
		return 0, errReturned
	}
	return g.to.Write(p)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to = nil
}
