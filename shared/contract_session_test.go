//go:build unix

package shared_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// hardToEnd starts processes in every way that gets away from a careless tool
// and writes their pids to the file $pids.
const hardToEnd = `
	told() { echo $1 >>$pids.part; }
	sleep 1000 & told $!
	nohup sleep 1000 >/dev/null 2>&1 & told $!
	setsid bash -c 'trap "" TERM HUP INT; echo $$ >>$pids.part; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &
	( setsid bash -c '( sleep 1000 & echo $! >>$pids.part ) &' & )
	told $$
	until [ $(wc -l <$pids.part) = 5 ]; do sleep 0.01; done
	mv $pids.part $pids
`

// Meaning 10: however the session ends, nothing of it is left.
func TestMeaning10TheSessionEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *host.Client){
		"when the client closes": func(t *testing.T, bash *host.Client) {
			require.NoError(t, bash.Close())
		},
		"when the plugin is killed": func(t *testing.T, bash *host.Client) {
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
		},
		"when the plugin is asked to end": func(t *testing.T, bash *host.Client) {
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGTERM))
		},
		"when the plugin is hung up": func(t *testing.T, bash *host.Client) {
			if signal.Ignored(syscall.SIGHUP) {
				t.Skip("these tests run under nohup, or the like, and so does the plugin")
			}
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGHUP))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp, pids := shortDir(t), filepath.Join(t.TempDir(), "pids")
			bash := launchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}})
			job := execute(t, bash, shared.ExecuteRequest{Command: hardToEnd + forever, Env: []string{"pids=" + pids}, Mode: shared.ModeBackground})
			started := append(numbers(t, awaitFile(t, pids)), bash.PluginPID(), job.PID)
			require.Len(t, started, 7)
			end(t, bash)
			awaitDeath(t, started...)
			requireEmpty(t, temp)
		})
	}
	t.Run("when the host is killed", func(t *testing.T) {
		t.Parallel()
		temp, pids := shortDir(t), filepath.Join(t.TempDir(), "pids")
		host := exec.Command(filepath.Join(filepath.Dir(pluginPath), "host-example"), "run", "--", hardToEnd+"echo $PPID >>$pids; "+forever)
		host.Env = append(os.Environ(), "TMPDIR="+temp, "pids="+pids)
		require.NoError(t, host.Start())
		var started []int
		eventually(t, "the command", func() bool {
			text, _ := os.ReadFile(pids)
			started = numbers(t, string(text))
			return len(started) == 6
		})
		require.NoError(t, host.Process.Kill())
		_ = host.Wait()
		awaitDeath(t, started...)
		requireEmpty(t, temp)
	})
}

// requireEmpty checks that nothing but logs is left in a temporary folder.
func requireEmpty(t *testing.T, temp string) {
	t.Helper()
	left := func() (names []string) {
		entries, err := os.ReadDir(temp)
		require.NoError(t, err)
		for _, entry := range entries {
			if entry.Name() != fmt.Sprintf("bash-plugin-%d", os.Getuid()) { // the logs
				names = append(names, entry.Name())
			}
		}
		return names
	}
	eventually(t, "an empty folder", func() bool { return len(left()) == 0 })
}

func TestCloseTellsTheCallsUnderWay(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	ready := filepath.Join(t.TempDir(), "ready")
	running := startExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo so far; echo $$ >" + ready + "; exec " + forever})
	pid := number(t, awaitFile(t, ready))
	job := background(t, bash, "echo up; "+forever).PID
	awaitText(t, bash, job, "up")
	waiting := start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: job, Wait: 1000 * hang})
	})
	require.NoError(t, bash.Close())
	done := await(t, running)
	require.NoError(t, done.err)
	assert.Equal(t, shared.StatusKilled, done.result.Status)
	assert.Equal(t, shared.CauseClose, done.result.Cause)
	assert.Equal(t, "so far\n", done.result.Stdout.Content)
	if done = await(t, waiting); done.err != nil { // it came too late
		requireCode(t, done.err, shared.ErrClosed)
	} else {
		assert.Equal(t, shared.StatusKilled, done.result.Status)
		assert.Equal(t, shared.CauseClose, done.result.Cause)
	}
	assert.False(t, plugintest.Alive(pid))
	assert.False(t, plugintest.Alive(job))
}
