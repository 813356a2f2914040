package executor

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// When Close returns, no folder or descriptor of a confined command is left.
func TestNoTMPDIROutlivesItsSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("commands are confined on Linux alone")
	}
	temp := t.TempDir()
	before := openFiles(t)
	for range 30 {
		e, err := New(Config{Temp: temp, Confine: []shared.Confine{{ReadOnly: true, BestEffort: true}}})
		require.NoError(t, err)
		ctx := context.Background()
		for _, req := range []shared.ExecuteRequest{
			{Command: "mkdir -p $TMPDIR/a/b && touch $TMPDIR/../other"},
			{Command: "sleep 1000 & echo $TMPDIR", Confine: &shared.Confine{NoNetwork: true, BestEffort: true}},
			{Command: "true", Stdin: shared.StdinTTY},
		} {
			_, err := e.Execute(ctx, req)
			require.NoError(t, err)
		}
		require.NoError(t, e.Close())
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	assert.InDelta(t, before, openFiles(t), 4)
}
