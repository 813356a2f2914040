// Package muxconn is the connection under go-plugin's multiplexer, yamux, which
// takes the other process for dead when a ping is not answered, or a write not
// done, within 10 s. A host that a person stops with Ctrl-Z, or a process under a
// debugger, is silent for longer than that and has not gone. A Conn therefore
//
//   - answers yamux's pings itself: the end of the connection tells of the end of
//     the other process, and nothing else does;
//   - keeps in memory what the other side does not read yet, so that Write never
//     waits. yamux holds each stream back at 256 KiB, which bounds this memory;
//   - reports every end of the connection as a plain io.EOF, and drops what is
//     written afterwards. Otherwise yamux would write about it on this process's
//     stderr, into whatever is shown there.
package muxconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a connection for one yamux session.
type Conn struct {
	net.Conn
	ended chan struct{}
	end   sync.Once // closes ended

	reading frame // that Read has returned a part of

	mu      sync.Mutex // guards what follows; never held while anything waits
	queue   []byte     // that has yet to be written
	partial bool       // queue ends in a header whose body comes with the next Write
	writing bool       // drain runs
	pongs   []byte     // answers to pings, for Read
}

// New makes a Conn of a connection, which may be one of TLS.
func New(conn net.Conn) *Conn { return &Conn{Conn: conn, ended: make(chan struct{})} }

// Ended is closed when the connection has ended, from whichever side.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Close ends the connection. What still waits to be written is lost.
func (c *Conn) Close() error {
	c.end.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

// Write is called by yamux's one sender, with a header or with the body that the
// header announced.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isHeader := !c.partial && len(p) == headerSize
	if isHeader && isPing(p) {
		c.pongs = append(c.pongs, pong(p)...)
		_ = c.SetReadDeadline(time.Unix(1, 0)) // wakes Read
		return len(p), nil
	}
	c.queue = append(c.queue, p...)
	c.partial = isHeader && bodySize(p) > 0 // header and body go in one piece
	if !c.partial && !c.writing {
		c.writing = true
		go c.drain()
	}
	return len(p), nil
}

// drain writes the queue, however long that takes. On a connection that has ended
// each write fails at once, and its bytes are dropped.
func (c *Conn) drain() {
	for waiting := c.take(); waiting != nil; waiting = c.take() {
		_, _ = c.Conn.Write(waiting)
	}
}

// take returns the queue. It is nil where drain has to end.
func (c *Conn) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.queue
	c.queue = nil
	c.writing = waiting != nil
	return waiting
}

// Read is called by yamux's one receiver.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		if n := c.takePongs(p); n > 0 {
			return n, nil
		}
		n, err := c.Conn.Read(p)
		c.reading.follow(p[:n])
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && c.hasPongs():
			continue
		}
		c.end.Do(func() { close(c.ended) })
		return 0, io.EOF
	}
}

// takePongs copies answers to p, unless Read is within a frame.
func (c *Conn) takePongs(p []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pongs) == 0 {
		return 0
	}
	_ = c.SetReadDeadline(time.Time{})
	if !c.reading.isWhole() {
		return 0
	}
	n := copy(p, c.pongs)
	c.pongs = c.pongs[n:]
	return n
}

func (c *Conn) hasPongs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pongs) > 0
}
