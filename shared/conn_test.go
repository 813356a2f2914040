package shared

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// message returns a header of the multiplexer, and the body.
func message(kind byte, flags uint16, number uint32, body string) []byte {
	p := []byte{0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(p[2:], flags)
	binary.BigEndian.PutUint32(p[8:], number)
	if kind == muxData {
		binary.BigEndian.PutUint32(p[8:], uint32(len(body)))
	}
	return append(p, body...)
}

// A ping is answered although the other side does nothing, between two of its
// messages, wherever it was interrupted.
func TestPingsAreAnsweredHere(t *testing.T) {
	ping, pong := message(muxPing, muxSYN, 7, ""), message(muxPing, muxACK, 7, "")
	data, update := message(muxData, 0, 0, "body"), message(1, 0, 1<<20, "")
	for at := range len(data) + len(update) + 1 {
		here, there := net.Pipe()
		c := &muxConn{Conn: here}
		all := append(bytes.Clone(data), update...)
		got := make(chan []byte)
		go func() {
			p := make([]byte, len(all)+len(pong))
			n, _ := io.ReadFull(c, p)
			got <- p[:n]
		}()
		send := func(to io.Writer, p []byte) {
			if len(p) > 0 {
				_, err := to.Write(p)
				require.NoError(t, err)
			}
		}
		send(there, all[:at])
		send(c, ping)
		send(there, all[at:])
		before, after, found := bytes.Cut(<-got, pong)
		assert.True(t, found)
		assert.Equal(t, all, append(bytes.Clone(before), after...))
		assert.Contains(t, []int{0, len(data), len(all)}, len(before), "a ping after %d bytes", at)
		there.Close()
		here.Close()
	}
}
