package shared

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/muxconn"
)

// sockets returns the ends of a connection.
func sockets(t *testing.T) (here, there *muxconn.Conn) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer listener.Close()
	dialed, err := net.Dial("unix", listener.Addr().String())
	require.NoError(t, err)
	accepted, err := listener.Accept()
	require.NoError(t, err)
	here, there = muxconn.Client(dialed, nil), muxconn.Server(accepted, nil)
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	return here, there
}

// heldConn holds its fourth new stream for longer than go-plugin waits for it:
// the one of the contract, after the calls' own and those of stdout and stderr.
type heldConn struct {
	*muxconn.Conn
	streams int
}

func (c *heldConn) Write(p []byte) (int, error) {
	const header, update, opens = 12, 1, 1 // of yamux
	if len(p) == header && p[1] == update && binary.BigEndian.Uint16(p[2:])&opens != 0 {
		if c.streams++; c.streams == 4 {
			time.Sleep(5500 * time.Millisecond)
		}
	}
	return c.Conn.Write(p)
}

// A host that was stopped just as it was about to take the contract's stream
// finds that the plugin has given it up.
func TestDispenseOfAStoppedHost(t *testing.T) {
	t.Parallel()
	here, there := sockets(t)
	server := plugin.RPCServer{
		Plugins: plugin.PluginSet{PluginName: &Plugin{Impl: scripted{
			check: func(context.Context, CheckRequest) (*Result, error) { return &Result{PID: 7}, nil },
		}}},
		Stdout: io.MultiReader(),
		Stderr: io.MultiReader(),
	}
	var serving sync.WaitGroup
	serving.Go(func() { server.ServeConn(there) })
	held := &heldConn{Conn: here}
	_, bash, err := dispense(held, io.Discard)
	require.NoError(t, err)
	assert.Greater(t, held.streams, 4, "it took the stream at once")
	result, err := bash.Check(t.Context(), CheckRequest{PID: 7})
	require.NoError(t, err)
	assert.Equal(t, 7, result.PID)
	here.Close()
	serving.Wait()
}

func TestALinkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	here, _ := sockets(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newLink(ctx, here, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, isClosedWithin(here.Ended(), guard))
}
