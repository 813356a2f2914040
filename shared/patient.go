package shared

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// patientConn is a socket whose Write never waits: what the system has no room
// for waits in memory, for as long as the other side does not read. The
// multiplexer on top of it would give up after 10 s, and with it calls and
// streams, although the other side may only be stopped for a while. Its streams
// hold back at 256 KiB each, which bounds what waits.
type patientConn struct {
	net.Conn
	raw syscall.RawConn

	mu    sync.Mutex // guards what follows; never held while anything waits
	queue []byte     // comes after what drain writes
	busy  bool       // drain runs
	err   error      // of a write; there are no more
}

// patient returns a patientConn for a socket, and whatever else it gets.
func patient(conn net.Conn) net.Conn {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := socket.SyscallConn()
	if err != nil { // closed already
		return conn
	}
	return &patientConn{Conn: conn, raw: raw}
}

// Write takes all of p, unless the connection has ended.
func (c *patientConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	if c.err == nil && !c.busy {
		n, c.err = c.try(p)
	}
	if c.err != nil {
		return n, c.err
	}
	if n < len(p) {
		c.queue = append(c.queue, p[n:]...)
		if !c.busy {
			c.busy = true
			go c.drain()
		}
	}
	return len(p), nil
}

// try writes what there is room for at this moment.
func (c *patientConn) try(p []byte) (n int, err error) {
	failed := c.raw.Write(func(fd uintptr) bool {
		for n < len(p) && err == nil {
			var written int
			written, err = syscall.Write(int(fd), p[n:])
			n += max(written, 0)
			if errors.Is(err, syscall.EINTR) {
				err = nil
			}
		}
		return true
	})
	switch {
	case failed != nil:
		return n, failed
	case errors.Is(err, syscall.EAGAIN):
		return n, nil
	}
	return n, err
}

// drain writes the queue, however long that takes.
func (c *patientConn) drain() {
	for {
		waiting := c.take()
		if waiting == nil {
			return
		}
		if _, err := c.Conn.Write(waiting); err != nil {
			c.fail(err)
			return
		}
	}
}

// take returns the queue. Where it is empty, drain has to end.
func (c *patientConn) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.queue
	c.queue = nil
	c.busy = waiting != nil
	return waiting
}

func (c *patientConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.busy, c.err = nil, false, err
}
