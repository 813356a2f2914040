package shared

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
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

// Who connects and then says nothing is hung up on at the first ping.
func TestPingsBeforeTheHandshakeEndTheConnection(t *testing.T) {
	own, err := newCertificate()
	require.NoError(t, err)
	here, there := net.Pipe()
	defer there.Close()
	c := &muxConn{Conn: tls.Server(here, &tls.Config{Certificates: []tls.Certificate{own}})}
	ended := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, c)
		ended <- err
	}()
	_, err = there.Write([]byte{22}) // which the handshake begins with: it is being read
	require.NoError(t, err)
	_, err = c.Write(message(muxPing, muxSYN, 7, ""))
	require.NoError(t, err)
	assert.NoError(t, <-ended)
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

// heldConn holds its fourth new stream for longer than go-plugin waits for it:
// the one of the contract, after the calls' own and those of stdout and stderr.
type heldConn struct {
	net.Conn
	streams int
}

func (c *heldConn) Write(p []byte) (int, error) {
	const update = 1
	if len(p) == muxHeader && p[1] == update && binary.BigEndian.Uint16(p[2:])&muxSYN != 0 {
		if c.streams++; c.streams == 4 {
			time.Sleep(6 * time.Second)
		}
	}
	return c.Conn.Write(p)
}

type checked struct{ Bash }

func (checked) Check(context.Context, CheckRequest) (*Result, error) {
	return &Result{PID: 7, Status: StatusRunning}, nil
}

// A host that was stopped just as it was about to take the contract's stream
// finds that the plugin has given it up.
func TestDispenseOfAStoppedHost(t *testing.T) {
	t.Parallel()
	here, there := sockets(t)
	server := plugin.RPCServer{
		Plugins: plugin.PluginSet{PluginName: &Plugin{Impl: checked{}}},
		Stdout:  strings.NewReader(""),
		Stderr:  strings.NewReader(""),
	}
	var serving sync.WaitGroup
	serving.Go(func() { server.ServeConn(there) })
	held := &heldConn{Conn: here}
	_, bash, err := dispense(&muxConn{Conn: held})
	require.NoError(t, err)
	assert.Greater(t, held.streams, 4, "it took the stream at once")
	result, err := bash.Check(t.Context(), CheckRequest{PID: 7})
	require.NoError(t, err)
	assert.Equal(t, 7, result.PID)
	here.Close()
	serving.Wait()
}

// Who serves a connection knows its end, and needs no stream for that: one that
// the multiplexer gives up is not the host's end.
func TestServingAConnectionToItsEnd(t *testing.T) {
	t.Parallel()
	here, there := sockets(t)
	gone, cancelled, began := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p := &Plugin{
		Impl: scripted{execute: func(ctx context.Context, _ ExecuteRequest) (*Result, error) {
			close(began)
			<-ctx.Done()
			close(cancelled)
			return &Result{}, nil
		}},
		Disconnected: func() { close(gone) },
	}
	served, quit := make(chan struct{}), make(chan struct{})
	go func() {
		serveConn(&muxConn{Conn: there}, p, func() { close(quit) })
		close(served)
	}()
	protocol, bash, err := dispense(&muxConn{Conn: here})
	require.NoError(t, err)
	_, err = protocol.Dispense(PluginName) // as after a first try that took too long
	require.NoError(t, err)
	c := bash.(*client)
	go func() { _, _ = c.Execute(context.Background(), ExecuteRequest{}) }()
	<-began
	assert.False(t, isClosed(gone))
	require.NoError(t, protocol.Close())
	here.Close()
	for what, c := range map[string]chan struct{}{"gone": gone, "cancelled": cancelled, "served": served, "quit": quit} {
		assert.True(t, isClosedWithin(c, guard), what)
	}
}
