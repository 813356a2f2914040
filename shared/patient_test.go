package shared

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

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

// Writes return although nobody reads; what was written comes in order.
func TestAPatientWriteDoesNotWait(t *testing.T) {
	here, there := sockets(t)
	c := patient(here)
	require.IsType(t, &patientConn{}, c)
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

func TestAPatientWriteFailsWhereNobodyCanRead(t *testing.T) {
	here, there := sockets(t)
	c := patient(here)
	_, err := c.Write(make([]byte, 4<<20))
	require.NoError(t, err)
	there.Close()
	for err == nil {
		_, err = c.Write([]byte("more"))
	}
	_, err = c.Write([]byte("more"))
	assert.Error(t, err, "for good")
}
