//go:build unix

package plugintest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

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
