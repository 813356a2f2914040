package host

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/session"
)

const hang = time.Minute // against a test that hangs

// isClosedWithin waits for the end of a channel.
func isClosedWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

func TestALinkThatIsNotMadeInTimeLeavesNoConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := listener.Accept()
		if assert.NoError(t, err) {
			cancel()
			_, _ = io.Copy(io.Discard, conn) // it never answers
		}
	}()
	_, _, _, err = shared.OpenSession(ctx, session.Config{Dial: dial("unix", listener.Addr().String(), nil)}, shared.SessionConfig{})
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, isClosedWithin(ended, hang))
}
