package job

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// As in the plugin, only orphans are the main thread's children.
func init() { runtime.LockOSThread() }

// A panic where output is read ends the command, and no goroutine waits for what does not
// come any more.
func TestAPanicOfAReader(t *testing.T) {
	table := process.NewTable(nil)
	logs := output.NewLogs(output.LogsConfig{Dir: t.TempDir()})
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	limits, err := confine.NewLimits(shared.Resources{}, nil)
	require.NoError(t, err)
	released := make(chan struct{})
	turns := NewTurns(2)
	close(turns.read) // so that the reader panics
	j, err := Start(Config{
		Start:   table.Start,
		Logger:  hclog.NewNullLogger(),
		Logs:    logs,
		Turns:   turns,
		Bash:    "/bin/bash",
		Null:    null,
		Dir:     "/",
		Place:   "/",
		Name:    "1",
		Limits:  limits,
		Confine: func(string) (Confinement, error) { return Confinement{Release: func() { close(released) }}, nil },
	}, shared.ExecuteRequest{Command: "while :; do echo out; done", Limits: shared.Limits{MaxBytes: 1}})
	require.NoError(t, err)
	for what, done := range map[string]<-chan struct{}{"the end of bash": j.Ended(), "the end of all": j.Over(), "the release": released} {
		select {
		case <-done:
		case <-time.After(time.Minute):
			require.FailNow(t, what)
		}
	}
	require.ErrorIs(t, j.Failure(), shared.ErrInternal)
	assert.True(t, table.Close())
	require.NoError(t, logs.Close())
}
