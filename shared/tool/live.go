package tool

import (
	"errors"
	"io"
	"sync"
)

var errReturned = errors.New("the call has returned")

// gate passes the output of a command, both streams together, to the live writer
// of a call. It closes when the call returns: after that the command may go on writing,
// as a job.
type gate struct {
	mu sync.Mutex // held during a Write; guards to
	to io.Writer  // nil once the call has returned
}

// Write implements io.Writer.
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
