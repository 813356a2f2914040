package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// All sessions of a user share a bound: the logs of ended sessions go, the oldest first;
// then the logs of live ones stop growing, and the Results say so.
func TestLogsOfAllSessionsOfAUser(t *testing.T) {
	t.Parallel()
	const most, step = 8 << 20, 512 << 10 // step: more than a session writes between two looks
	cfg := host.LaunchConfig{Path: plugintest.Path, LogDir: t.TempDir(), MaxUserLogBytes: most}
	const megabyte = "yes | head -c 1000000"
	session := func() *host.Client {
		bash, err := host.Launch(t.Context(), cfg)
		require.NoError(t, err)
		return bash
	}
	var ended []string // the oldest first
	for i := range 6 {
		bash := session()
		log := plugintest.Run(t, bash, megabyte).Stdout.Path
		require.NoError(t, bash.Close())
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		for _, path := range []string{log, filepath.Join(filepath.Dir(log), ".lock"), filepath.Dir(log)} {
			require.NoError(t, os.Chtimes(path, at, at))
		}
		ended = append(ended, filepath.Dir(log))
	}
	first := plugintest.LaunchWith(t, cfg)
	kept := plugintest.Run(t, first, megabyte).Stdout.Path
	for _, folder := range ended {
		assert.DirExists(t, folder, "there is room")
	}

	second := plugintest.LaunchWith(t, cfg)
	for range 3 {
		r := plugintest.Run(t, second, megabyte)
		assert.Empty(t, r.Stdout.PathError)
		assert.LessOrEqual(t, plugintest.DiskUse(t, cfg.LogDir), int64(most))
	}
	assert.NoDirExists(t, ended[0])
	assert.NoDirExists(t, ended[1])
	assert.DirExists(t, ended[4])
	assert.DirExists(t, ended[5])

	// Both flood at once.
	var jobs []int
	for _, bash := range []*host.Client{first, second} {
		jobs = append(jobs, plugintest.Background(t, bash, "yes").PID)
	}
	for i, bash := range []*host.Client{first, second} {
		says := fmt.Sprintf("all logs of this user in %s may hold %d bytes", cfg.LogDir, most)
		plugintest.Eventually(t, "the end of the log", func() bool {
			return plugintest.Check(t, bash, shared.CheckRequest{PID: jobs[i]}).Stdout.PathError != ""
		})
		r := plugintest.Kill(t, bash, jobs[i])
		assert.Contains(t, r.Stdout.PathError, says)
	}
	for _, folder := range ended {
		assert.NoDirExists(t, folder)
	}
	assert.LessOrEqual(t, plugintest.DiskUse(t, cfg.LogDir), int64(most+2*step))
	assert.Len(t, plugintest.ReadFile(t, kept), 1000000, "a live session's log is never removed")

	require.NoError(t, second.Close())
	r := plugintest.Run(t, first, megabyte)
	assert.Empty(t, r.Stdout.PathError, "the session that has ended makes room")
	assert.Len(t, plugintest.ReadFile(t, r.Stdout.Path), 1000000)
}
