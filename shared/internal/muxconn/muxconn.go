// Package muxconn is the connection under go-plugin's multiplexer, yamux. yamux
// takes the other process for dead if a ping is not answered, or a write not done,
// within 10 s. But a host under Ctrl-Z, or a process under a debugger, is silent for
// longer than that and still alive. A Conn therefore
//
//   - answers yamux's pings itself, so that only the end of the connection means
//     that the other process has ended;
//   - keeps bytes in memory that the other side does not read yet, so that Write
//     never blocks. yamux holds each stream back at 256 KiB, which bounds this memory;
//   - reports every end of the connection as a plain io.EOF, and drops later writes.
//     Otherwise yamux would complain on this process's stderr, which may be a
//     person's terminal.
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

	reading frame // where in a frame the bytes that Read returned end

	mu      sync.Mutex // guards the fields below; never held while blocking
	queue   []byte     // still to be written
	partial bool       // queue ends in a header whose body comes with the next Write
	writing bool       // drain runs
	pongs   []byte     // answers to pings, for Read
}

// New makes a Conn on top of a connection, which may be a tls.Conn.
func New(conn net.Conn) *Conn { return &Conn{Conn: conn, ended: make(chan struct{})} }

// Ended is closed when the connection has ended, whichever side ended it.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// HasEnded reports whether the connection has ended.
func (c *Conn) HasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Close ends the connection. Bytes that are still to be written are lost.
func (c *Conn) Close() error {
	c.end.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

// Write is called by yamux's one sender, with a header or with the body that
// belongs to the last header.
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

// drain writes the queue, however long that takes. Once the connection has ended,
// each write fails at once and its bytes are dropped.
func (c *Conn) drain() {
	for waiting := c.take(); waiting != nil; waiting = c.take() {
		_, _ = c.Conn.Write(waiting)
	}
}

// take returns the queue, nil if it is empty: then drain ends.
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

// takePongs copies answers to p, unless Read is in the middle of a frame.
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
