package shared

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
)

// muxConn is what go-plugin's multiplexer (yamux) talks to the other side over.
//
// It sends each message in one piece. It is silent: the end of the other side,
// however it came, is the end of the stream, and what is written after that is
// dropped. Otherwise the multiplexer would write about it on this process's
// stderr, into the middle of whatever is shown there. And it answers the
// multiplexer's pings itself: a process that is stopped for a while, by a
// debugger or a person's Ctrl-Z, has not gone, and its end is noticed anyway.
type muxConn struct {
	net.Conn
	message []byte // a header whose body comes with the next Write, then both
	broken  bool

	header [muxHeader]byte // of the message that comes in
	have   int             // of the header
	body   uint32          // bytes of that message still to come

	mu    sync.Mutex // guards pongs
	pongs []byte     // answers for Read
}

// dialMux connects to a plugin, over TLS where config is not nil.
func dialMux(addr net.Addr, config *tls.Config) (*muxConn, error) {
	conn, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		return nil, err
	}
	conn = patient(conn)
	if config != nil {
		conn = tls.Client(conn, config)
	}
	return &muxConn{Conn: conn}, nil
}

// A message of the multiplexer: version, type, flags (2 bytes), stream (4) and
// length (4), which is a ping's number; as many bytes follow where the type is
// data.
const (
	muxHeader = 12
	muxData   = 0
	muxPing   = 2
	muxSYN    = 1 // of a ping: the question
	muxACK    = 2 // the answer
)

// bodySize returns how many bytes follow a header.
func bodySize(header []byte) uint32 {
	if header[1] == muxData {
		return binary.BigEndian.Uint32(header[8:])
	}
	return 0
}

func asks(header []byte) bool {
	return header[1] == muxPing && binary.BigEndian.Uint16(header[2:]) == muxSYN
}

// Write is called by one goroutine at a time, with a header or a body.
func (c *muxConn) Write(p []byte) (int, error) {
	if len(c.message) == 0 && len(p) == muxHeader {
		switch {
		case bodySize(p) > 0:
			c.message = append(c.message, p...)
			return len(p), nil
		case asks(p):
			c.answer(p)
			return len(p), nil
		}
	}
	whole := p
	if len(c.message) > 0 {
		c.message = append(c.message, p...)
		whole = c.message
		c.message = c.message[:0]
	}
	if !c.broken {
		_, err := c.Conn.Write(whole)
		c.broken = err != nil
	}
	return len(p), nil
}

// answer has Read return the answer to a ping.
func (c *muxConn) answer(ping []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pongs = append(c.pongs, ping...)
	binary.BigEndian.PutUint16(c.pongs[len(c.pongs)-muxHeader+2:], muxACK)
	_ = c.SetReadDeadline(time.Unix(1, 0)) // wakes Read
}

// Read is called by one goroutine at a time.
func (c *muxConn) Read(p []byte) (int, error) {
	for {
		if n := c.takePongs(p); n > 0 {
			return n, nil
		}
		n, err := c.Conn.Read(p)
		c.follow(p[:n])
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.hasPongs() {
			continue
		}
		if err != nil { // of TLS before its handshake: also that it was interrupted
			err = io.EOF
		}
		return n, err
	}
}

// takePongs returns answers, which come between two messages.
func (c *muxConn) takePongs(p []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pongs) == 0 {
		return 0
	}
	_ = c.SetReadDeadline(time.Time{})
	if c.have > 0 || c.body > 0 {
		return 0
	}
	n := copy(p, c.pongs)
	c.pongs = c.pongs[n:]
	return n
}

func (c *muxConn) hasPongs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pongs) > 0
}

// follow takes note of where messages begin and end.
func (c *muxConn) follow(p []byte) {
	for len(p) > 0 {
		if c.body > 0 {
			n := min(int(c.body), len(p))
			c.body -= uint32(n)
			p = p[n:]
			continue
		}
		n := copy(c.header[c.have:], p)
		p = p[n:]
		if c.have += n; c.have == muxHeader {
			c.have, c.body = 0, bodySize(c.header[:])
		}
	}
}

// dispense gets a Bash from the plugin at the other end of conn. go-plugin there
// waits 5 s for this side to take it, which may be stopped meanwhile.
func dispense(conn *muxConn) (*plugin.RPCClient, Bash, error) {
	protocol, err := plugin.NewRPCClient(conn, Plugins)
	if err != nil {
		return nil, nil, err
	}
	if err := protocol.SyncStreams(io.Discard, io.Discard); err != nil {
		return nil, nil, err
	}
	bash, err := protocol.Dispense(PluginName)
	if err != nil {
		bash, err = protocol.Dispense(PluginName)
	}
	if err != nil {
		return nil, nil, err
	}
	return protocol, bash.(Bash), nil
}
