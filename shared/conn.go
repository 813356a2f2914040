package shared

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"

	"github.com/hashicorp/go-plugin"
)

// muxConn is what go-plugin's multiplexer (yamux) talks to the plugin over. It
// sends each message in one piece, and it is silent: the end of the plugin,
// however it came, is the end of the stream, and what is written after that is
// dropped. Otherwise the multiplexer would write about it on the host's own
// stderr, into the middle of whatever the host shows there.
type muxConn struct {
	net.Conn
	message []byte // a header whose body comes with the next Write, then both
	broken  bool
}

// dialMux connects to a plugin, over TLS where config is not nil.
func dialMux(addr net.Addr, config *tls.Config) (*muxConn, error) {
	conn, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		return nil, err
	}
	if config != nil {
		conn = tls.Client(conn, config)
	}
	return &muxConn{Conn: conn}, nil
}

// A message of the multiplexer: version, type, flags (2 bytes), stream (4) and
// length (4); as many bytes follow where the type is 0, data.
const muxHeader = 12

func announcesBody(p []byte) bool {
	return len(p) == muxHeader && p[1] == 0 && binary.BigEndian.Uint32(p[8:]) > 0
}

// Write is called by one goroutine at a time, with a header or a body.
func (c *muxConn) Write(p []byte) (int, error) {
	if len(c.message) == 0 && announcesBody(p) {
		c.message = append(c.message, p...)
		return len(p), nil
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

// Read reads.
func (c *muxConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// dispense gets a Bash from the plugin at the other end of conn.
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
		return nil, nil, err
	}
	return protocol, bash.(Bash), nil
}
