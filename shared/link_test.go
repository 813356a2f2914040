package shared

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/muxconn"
)

func TestALinkThatIsNotMadeInTimeLeavesNoConnection(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer there.Close()
	conn := muxconn.Client(here, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newLink(ctx, conn, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, isClosed(conn.Ended()))
}
