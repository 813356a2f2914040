//go:build unix

package plugintest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var nextPort atomic.Int32

// FreeAddress is one that nobody listens on. Its port is below those that the kernel
// gives to connections (net.ipv4.ip_local_port_range), which other tests, running
// beside this one, might be given.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		port := 20000 + (os.Getpid()*16+int(nextPort.Add(1)))%10000
		address := fmt.Sprint("127.0.0.1:", port)
		listener, err := net.Listen("tcp", address)
		if err == nil {
			listener.Close()
			return address
		}
		require.ErrorIs(t, err, syscall.EADDRINUSE)
	}
}

// Listen serves on an address of the test's until it ends, and returns the address.
func Listen(t testing.TB, network, address string, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr().String()
}
