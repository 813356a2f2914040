//go:build unix

package faults

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// The output of a Check that its caller has given up is shown by a later one.
func TestOutputThatNobodySawIsShownAgain(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := plugintest.Background(t, bash, "echo seen; exec sleep 1000")
	plugintest.Eventually(t, "the output is there", func() bool {
		return plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID, Peek: true}).Stdout.Content == "seen\n"
	})
	plugintest.Stop(t, bash.PluginPID())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := bash.Check(ctx, shared.CheckRequest{PID: job.PID})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGCONT))
	text := ""
	plugintest.Eventually(t, "somebody sees it", func() bool {
		text += plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID}).Stdout.Content
		return text != ""
	})
	for range 20 {
		text += plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID}).Stdout.Content
	}
	assert.Equal(t, "seen\n", text, "once")
}
