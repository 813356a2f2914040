package executor

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// A wait that is given up ends, though a look through output goes on for long.
func TestAWaitEndsAmidALook(t *testing.T) {
	e := newExecutor(t, Config{})
	r, err := e.Execute(context.Background(), shared.ExecuteRequest{Command: "head -c 32000 /dev/zero | tr '\\0' x; sleep 1000", Mode: shared.ModeBackground})
	require.NoError(t, err)
	j, err := e.jobs.find(r.PID)
	require.NoError(t, err)
	for deadline := time.Now().Add(time.Minute); j.Result(shared.Limits{}, true).Stdout.TotalBytes < 32000; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
	slow := regexp.MustCompile(`(?:x{1,30}y?){1,30}(?:x{1,30}y?){1,30}(?:x{1,30}y?){1,30}z`) // more than a request may ask for
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for len(e.looks) == maxLooks {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	e.await(ctx, j, time.Minute, slow)
	require.Len(t, e.looks, maxLooks-1, "the look has come to its end before the wait did")
}
