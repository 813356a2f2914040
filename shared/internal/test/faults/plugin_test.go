//go:build unix

package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// faults are the ways in which a session dies.
var faults = map[string]func(*faultHost){
	"host killed":              func(h *faultHost) { _ = h.cmd.Process.Kill() },
	"host terminated":          func(h *faultHost) { _ = h.cmd.Process.Signal(syscall.SIGTERM) },
	"host panics":              func(h *faultHost) { h.tell("panic") },
	"host exits without Close": func(h *faultHost) { h.tell("exit") },
	"plugin killed":            func(h *faultHost) { _ = unix.Kill(h.plugin, unix.SIGKILL) },
	"plugin aborted":           func(h *faultHost) { _ = unix.Kill(h.plugin, unix.SIGABRT) },
	"plugin terminated":        func(h *faultHost) { _ = unix.Kill(h.plugin, unix.SIGTERM) },
	"both killed at once": func(h *faultHost) {
		_ = unix.Kill(h.plugin, unix.SIGKILL)
		_ = h.cmd.Process.Kill()
	},
	"host killed, plugin stopped": func(h *faultHost) {
		_ = unix.Kill(h.plugin, unix.SIGSTOP)
		_ = h.cmd.Process.Kill()
	},
	"guardian killed, then the host": func(h *faultHost) {
		_ = unix.Kill(plugintest.Guardian(h.t, h.plugin), unix.SIGKILL)
		_ = h.cmd.Process.Kill()
	},
	"socket folder removed, host killed": func(h *faultHost) {
		for _, folder := range h.socketFolders() {
			_ = os.RemoveAll(folder)
		}
		_ = h.cmd.Process.Kill()
	},
	"host closes": func(h *faultHost) { h.tell("close") },
}

func (h *faultHost) socketFolders() []string {
	folders, err := filepath.Glob(filepath.Join(h.temp, "bash-plugin-run-*"))
	require.NoError(h.t, err)
	return folders
}

// However a session dies, every process of it is gone, and its socket with it.
func TestFaultsLeaveNothing(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clean faultTimes
			for range faultRounds() {
				crowd := newFaultCrowd(t)
				h := startFaultHost(t, faultHostOrders{Commands: crowd.treeCommands()})
				pids := append(crowd.await(len(faultTrees)), h.plugin, plugintest.Guardian(t, h.plugin))
				require.NotEmpty(t, h.socketFolders())
				begin := time.Now()
				fault(h)
				crowd.awaitGone()
				clean.add(time.Since(begin))
				plugintest.AwaitDeath(t, append(pids, h.pids...)...)
				plugintest.Eventually(t, "no socket", func() bool { return len(h.socketFolders()) == 0 })
				if strings.HasPrefix(name, "host") || strings.HasPrefix(name, "both") {
					_ = h.cmd.Wait()
				}
			}
			clean.log(t, "until every process is gone after "+name, 2*time.Second)
		})
	}
}

// A host that dies is noticed at once: commands are asked to end.
func TestFaultsAreNoticed(t *testing.T) {
	t.Parallel()
	var noticed faultTimes
	for range 3 * faultRounds() {
		crowd := newFaultCrowd(t)
		h := startFaultHost(t, faultHostOrders{Commands: []string{
			crowd.command(`trap 'echo 0 >&9; exit' TERM; echo $$ >&9; sleep 1000 & wait`),
		}})
		crowd.await(1)
		begin := time.Now()
		require.NoError(t, h.cmd.Process.Kill())
		crowd.await(2)
		noticed.add(time.Since(begin))
		crowd.awaitGone()
	}
	noticed.log(t, "from the host's SIGKILL to the commands' SIGTERM", 100*time.Millisecond)
}

// A host that dies while it starts the plugin leaves nothing either.
func TestFaultsDuringTheStart(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	round := func(t *testing.T, i int) {
		temp := plugintest.ShortDir(t)
		// The host is a bash that reads the plugin's stdout, and ends.
		script := "coproc exec '" + plugintest.Path + "' -dir=/ 2>/dev/null; sleep 0.0" + strconv.Itoa(i%5) + "; echo $! >" + temp + "/pid"
		r := plugintest.Run(t, bash, "export BASH_PLUGIN="+shared.Handshake.MagicCookieValue+" TMPDIR="+temp+"; setsid bash -c "+faultQuote(script)+"; :")
		require.NotEqual(t, -1, r.ExitCode)
		pid := plugintest.Number(t, plugintest.AwaitFile(t, filepath.Join(temp, "pid")))
		plugintest.AwaitDeath(t, pid)
		plugintest.Eventually(t, "no socket", func() bool {
			folders, _ := filepath.Glob(filepath.Join(temp, "bash-plugin-run-*"))
			return len(folders) == 0
		})
	}
	for i := range 10 * faultRounds() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			round(t, i)
		})
	}
}

func faultQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// When the plugin dies under a Client that lives, calls under way fail at once,
// and the next one works.
func TestFaultsUnderALiveHost(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	var failed, clean, back faultTimes
	for range 3 * faultRounds() {
		crowd := newFaultCrowd(t)
		for _, command := range crowd.treeCommands() {
			plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground})
		}
		waiting := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: crowd.command(`bash -c "$p"`)})
		pids := crowd.await(len(faultTrees) + 1)
		plugin := bash.PluginPID()
		begin := time.Now()
		require.NoError(t, unix.Kill(plugin, unix.SIGKILL))
		plugintest.RequireCode(t, plugintest.Await(t, waiting).Err, shared.ErrCrashed)
		failed.add(time.Since(begin))
		begin = time.Now()
		assert.Equal(t, "back\n", plugintest.Run(t, bash, "echo back").Stdout.Content)
		back.add(time.Since(begin))
		crowd.awaitGone()
		clean.add(time.Since(begin))
		plugintest.AwaitDeath(t, append(pids, plugin)...)
	}
	failed.log(t, "from the plugin's SIGKILL to ErrCrashed", 100*time.Millisecond)
	back.log(t, "the next call, on a fresh plugin", 0)
	clean.log(t, "until every process of the old plugin is gone", 2*time.Second)
}

// Ctrl-C at a host's terminal is for the host, which may go on: it does not end a
// plugin that is just starting.
func TestFaultCtrlCDuringTheStart(t *testing.T) {
	t.Parallel()
	for range faultRounds() {
		h := startFaultHost(t, faultHostOrders{Interrupted: true, Commands: []string{plugintest.Forever}})
		assert.Len(t, h.pids, 1)
	}
}

// If a plugin is killed while it starts a command, it may have a child that does not
// execute bash yet. That child must end, too.
func TestFaultAmidAStart(t *testing.T) {
	t.Parallel()
	temp := plugintest.ShortDir(t)
	for i := range 8 * faultRounds() {
		crowd := newFaultCrowd(t)
		bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}})
		plugin := bash.PluginPID()
		guardian := plugintest.Guardian(t, plugin)
		ctx, cancel := plugintest.Cancelable(t)
		var calls []<-chan plugintest.Outcome
		for range 8 {
			calls = append(calls, plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: crowd.command(plugintest.Forever)}))
		}
		time.Sleep(time.Duration(i) * time.Millisecond / 2)
		require.NoError(t, unix.Kill(plugin, unix.SIGKILL))
		plugintest.AwaitDeath(t, plugin, guardian)
		cancel()
		for _, call := range calls {
			if done := plugintest.Await(t, call); done.Err != nil {
				plugintest.RequireCode(t, done.Err, shared.ErrCrashed)
			} else { // it came late, to the next plugin
				assert.Equal(t, shared.CauseCancel, done.Result.Cause)
			}
		}
		crowd.awaitGone()
		require.NoError(t, bash.Close())
	}
	requireEmpty(t, temp)
}

// The plugin and its guardian killed at once: the fresh plugin works, and
// nothing waits for what nobody ends.
func TestFaultOfThePluginAndItsGuardian(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := plugintest.Background(t, bash, plugintest.Forever).PID
	t.Cleanup(func() { _ = unix.Kill(job, unix.SIGKILL) })
	plugin := bash.PluginPID()
	guardian := plugintest.Guardian(t, plugin)
	require.NoError(t, unix.Kill(guardian, unix.SIGKILL))
	require.NoError(t, unix.Kill(plugin, unix.SIGKILL))
	plugintest.AwaitDeath(t, plugin, guardian)
	plugintest.Eventually(t, "the client knows", func() bool { return bash.PluginPID() == 0 })
	assert.Equal(t, "back\n", plugintest.Run(t, bash, "echo back").Stdout.Content)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: job})
	plugintest.RequireCode(t, err, shared.ErrNotFound)
	assert.ErrorIs(t, err, shared.ErrCrashed)
}
