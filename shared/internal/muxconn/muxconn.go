// Package muxconn is the connection under go-plugin's multiplexer, yamux. yamux closes a
// connection if the other process does not answer a ping, or does not take a write, within 10 s.
// That is too early: a host that was suspended with Ctrl-Z, or a process under a debugger, may be
// silent for much longer, and a slow connection delays answers. Therefore a Conn stands between
// yamux and the real connection:
//
//   - It answers yamux's pings itself, so that yamux never closes the connection for silence.
//   - If it was made with a bound for silence, it ends the connection when nothing has come for
//     that long. Both sides send heartbeats, so that only a lost connection is silent.
//     Without a bound, the connection ends only when one of the two sides closes it.
//   - Its Write never blocks: a Conn keeps in memory what the other side does not read yet. yamux
//     stops each stream after 256 KiB that were not read, which bounds this memory.
//   - It reports every end of the connection as a plain io.EOF, and drops later writes. At any
//     other error yamux would complain on this process's stderr, which may be a person's terminal.
package muxconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is a connection for one yamux session.
type Conn struct {
	net.Conn

	// silence is how long nothing may come before the connection counts as lost; 0: however long.
	silence time.Duration

	ended chan struct{}
	end   sync.Once // closes ended
	moved atomic.Int64

	arrived time.Time // when something came last

	// frames has what has come and Read has not returned yet.
	frames frames

	// mu guards the fields below. It is never held while blocking.
	mu sync.Mutex

	queue []byte // still to be written

	// partial is set while queue ends in a header whose body comes with the next Write.
	partial bool

	writing bool   // drain runs
	pongs   []byte // answers to pings, for Read
	beat    *time.Timer
}

// New makes a Conn on top of a connection, which may be a tls.Conn. It sends heartbeats, and ends
// if nothing comes for silence, unless that is 0.
func New(conn net.Conn, silence time.Duration) *Conn {
	c := &Conn{Conn: conn, silence: silence, ended: make(chan struct{}), arrived: time.Now()}
	if silence > 0 {
		retransmitSoon(conn, silence)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.beat = time.AfterFunc(c.beatTime(), c.sendBeat)
	}
	return c
}

// beatTime is the time between heartbeats: two may be late before the connection counts as lost.
func (c *Conn) beatTime() time.Duration { return c.silence / 3 }

// Ended is closed when the connection has ended, whichever side ended it.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Moved counts the bytes that have gone either way, without heartbeats.
func (c *Conn) Moved() int64 { return c.moved.Load() }

// Close ends the connection. Bytes that are still to be written are lost.
func (c *Conn) Close() error {
	c.markEnd()
	return c.Conn.Close()
}

func (c *Conn) markEnd() {
	c.end.Do(func() {
		close(c.ended)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.beat != nil {
			c.beat.Stop()
		}
	})
}

func (c *Conn) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// sendBeat sends a heartbeat.
func (c *Conn) sendBeat() {
	if c.hasEnded() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.partial && len(c.queue) == 0 { // otherwise bytes are on their way
		c.queue = append(c.queue, heartbeat()...)
		c.drainLocked()
	}
	c.beat.Reset(c.beatTime())
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
	if !isHeader || !isPong(p) {
		c.moved.Add(int64(len(p)))
	}
	c.queue = append(c.queue, p...)
	c.partial = isHeader && bodySize(p) > 0 // header and body go in one piece
	if !c.partial {
		c.drainLocked()
	}
	return len(p), nil
}

func (c *Conn) drainLocked() {
	if !c.writing {
		c.writing = true
		go c.drain()
	}
}

// drain writes the queue, however long that takes. Once the connection has ended,
// each write fails at once and its bytes are dropped.
func (c *Conn) drain() {
	for {
		waiting := c.take()
		if waiting == nil {
			return
		}
		_, _ = c.Conn.Write(waiting)
	}
}

// take returns the queue, nil if it is empty: then drain ends. A header whose body has not come
// stays in the queue.
func (c *Conn) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.partial {
		c.writing = false
		return nil
	}
	waiting := c.queue
	c.queue = nil
	c.writing = waiting != nil
	return waiting
}

// Read is called by yamux's one receiver. It returns whole frames only, if need be in
// parts, so that the answer to a ping can come between any two.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		n := c.frames.take(p)
		if n > 0 {
			return n, nil
		}
		n = c.takePongs(p)
		if n > 0 {
			return n, nil
		}
		err := c.frames.readFrom(c.Conn)
		switch {
		case err == nil:
			c.arrived = time.Now()
			c.moved.Add(c.frames.counted())
		case errors.Is(err, os.ErrDeadlineExceeded) && c.hasPongs():
		default: // yamux, which gets the EOF, closes the connection
			c.markEnd()
			return 0, io.EOF
		}
	}
}

func (c *Conn) hasPongs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pongs) > 0
}

// takePongs copies answers to p. If there are none, the next read waits as long as the other side
// may be silent.
func (c *Conn) takePongs(p []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pongs) > 0 {
		n := copy(p, c.pongs)
		c.pongs = c.pongs[n:]
		return n
	}
	deadline := time.Time{}
	if c.silence > 0 {
		deadline = c.arrived.Add(c.silence)
	}
	_ = c.SetReadDeadline(deadline)
	return 0
}
