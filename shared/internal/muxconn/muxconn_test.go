package muxconn

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sockets returns the ends of a connection.
func sockets(t *testing.T) (here, there net.Conn) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer listener.Close()
	here, err = net.Dial("unix", listener.Addr().String())
	require.NoError(t, err)
	there, err = listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	return here, there
}

// message returns a header, and the body.
func message(kind byte, flags uint16, number uint32, body string) []byte {
	p := make([]byte, headerSize)
	p[1] = kind
	binary.BigEndian.PutUint16(p[2:], flags)
	binary.BigEndian.PutUint32(p[8:], number)
	if kind == typeData {
		binary.BigEndian.PutUint32(p[8:], uint32(len(body)))
	}
	return append(p, body...)
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Writes return although nobody reads; what was written comes in order.
func TestWriteDoesNotWait(t *testing.T) {
	t.Parallel()
	here, there := sockets(t)
	c := New(here, 0)
	want := make([]byte, 8<<20)
	_, _ = rand.Read(want)
	write := func(p []byte) {
		for len(p) > 0 {
			n, err := c.Write(p[:min(len(p), 100_000)])
			require.NoError(t, err)
			p = p[n:]
		}
	}
	write(want[:len(want)/2]) // more than a socket holds
	got := make([]byte, len(want))
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.ReadFull(there, got) })
	write(want[len(want)/2:])
	reading.Wait()
	assert.True(t, bytes.Equal(want, got))
}

// The end of the other side is an end of file, and what is written after it is
// dropped.
func TestTheEndIsSilent(t *testing.T) {
	t.Parallel()
	here, there := sockets(t)
	c := New(here, 0)
	_, err := c.Write(make([]byte, 4<<20)) // more than a socket holds
	require.NoError(t, err)
	there.Close()
	_, err = c.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err)
	<-c.Ended()
	for range 100 {
		_, err = c.Write([]byte("more"))
		assert.NoError(t, err)
	}
	require.NoError(t, c.Close())
}

func TestCloseEndsTheConnection(t *testing.T) {
	t.Parallel()
	here, _ := sockets(t)
	c := New(here, 0)
	require.NoError(t, c.Close())
	<-c.Ended()
	_, err := c.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err)
}

// recorder notes the writes.
type recorder struct {
	net.Conn
	writes chan []byte
}

func (r recorder) Write(p []byte) (int, error) {
	r.writes <- bytes.Clone(p)
	return len(p), nil
}

func TestAMessageIsSentInOnePiece(t *testing.T) {
	t.Parallel()
	here, _ := sockets(t)
	r := recorder{here, make(chan []byte, 10)}
	c := New(r, 0)
	data := message(typeData, 0, 0, "twelve bytes")
	for range 3 {
		for _, part := range [][]byte{data[:headerSize], data[headerSize:]} {
			_, err := c.Write(part)
			require.NoError(t, err)
		}
		assert.Equal(t, data, <-r.writes)
	}
}

// A ping is answered although the other side does nothing, between two of its
// messages, wherever it was interrupted.
func TestPingsAreAnsweredHere(t *testing.T) {
	t.Parallel()
	ping, pong := message(typePing, flagSYN, 7, ""), message(typePing, flagACK, 7, "")
	data, update := message(typeData, 0, 0, "body"), message(1, 0, 1<<20, "")
	for at := range len(data) + len(update) + 1 {
		here, there := net.Pipe()
		c := New(here, 0)
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

// The end of a connection whose other side connects and then says nothing comes
// with the first ping.
func TestPingsBeforeTheHandshakeEndTheConnection(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer there.Close()
	c := New(tls.Server(here, &tls.Config{Certificates: []tls.Certificate{certificate(t)}}), 0)
	ended := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, c)
		ended <- err
	}()
	_, err := there.Write([]byte{22}) // the first byte of a handshake: now it is being read
	require.NoError(t, err)
	_, err = c.Write(message(typePing, flagSYN, 7, ""))
	require.NoError(t, err)
	assert.NoError(t, <-ended)
}

// go-plugin itself, over TLS: calls, and streams in one direction.
func TestUnderGoPlugin(t *testing.T) {
	t.Parallel()
	here, there := sockets(t)
	want := strings.Repeat("text", 1<<20)
	server := plugin.RPCServer{Stdout: strings.NewReader(""), Stderr: strings.NewReader(want)}
	served := New(tls.Server(there, &tls.Config{Certificates: []tls.Certificate{certificate(t)}}), 0)
	var serving sync.WaitGroup
	serving.Go(func() { server.ServeConn(served) })
	client, err := plugin.NewRPCClient(New(tls.Client(here, &tls.Config{InsecureSkipVerify: true}), 0), nil)
	require.NoError(t, err)
	reader, writer := io.Pipe()
	require.NoError(t, client.SyncStreams(io.Discard, writer))
	got := make([]byte, len(want))
	_, err = io.ReadFull(reader, got)
	require.NoError(t, err)
	assert.True(t, want == string(got))
	require.NoError(t, client.Ping())
	require.NoError(t, client.Close())
	<-served.Ended()
	serving.Wait()
}
