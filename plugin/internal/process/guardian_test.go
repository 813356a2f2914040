package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/process"
)

func TestGuardianCleansUpAfterAKill(t *testing.T) {
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			t.Parallel()
			if tree.linux && runtime.GOOS != "linux" {
				t.Skip("a process that leaves its group is found on Linux alone")
			}
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "socket"), nil, 0o600))
			d := startDoomed(t, doom{Commands: []string{tree.text}, Duties: process.Duties{Remove: []string{folder}}})
			pids := d.pids(tree.n)
			killed := time.Now()
			d.kill()
			t.Logf("all were gone after %v", time.Since(killed))
			require.Empty(t, living(pids), "alive after the guardian's end")
			require.NoDirExists(t, folder)
		})
	}
}

func TestGuardianBeatsForks(t *testing.T) {
	for name, text := range forkers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := startDoomed(t, doom{Commands: []string{text}})
			d.pids(1)
			d.kill()
		})
	}
}

// A plugin that runs within a command ends with it, though its guardian is
// killed too.
func TestGuardianEndsAPluginWithin(t *testing.T) {
	for name, text := range forkers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner, err := json.Marshal(doom{Commands: []string{text}})
			require.NoError(t, err)
			d := startDoomed(t, doom{Commands: []string{"export " + doomedEnv + "='" + strings.ReplaceAll(string(inner), "'", `'\''`) + "'; sleep 1000 | $program"}})
			d.pids(1)
			d.kill()
		})
	}
}

// login leaves a process that has taken the tag off, as "su -" run by root does.
const login = `ulimit -x unlimited; env -i setsid -f bash -c "$p"`

// Such a process belongs to no command any more, and ends with the plugin.
func TestStraysEndWithThePlugin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux alone")
	}
	for _, ending := range []string{"orderly", "killed"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			d := startDoomed(t, doom{Commands: []string{login}})
			stray := d.pids(1)
			eventually(t, "it is an orphan", func() bool { return len(childPIDs(d.cmd.Process.Pid)) == 2 })
			d.do("true")
			require.Equal(t, stray, living(stray))
			if ending == "killed" {
				d.kill()
			} else {
				require.NoError(t, d.stdin.Close())
				require.NoError(t, d.cmd.Wait(), "Close says that nothing is left")
			}
			require.Empty(t, living(stray))
		})
	}
}

func TestGuardianKillsAPluginThatOutlivesItsHost(t *testing.T) {
	t.Parallel()
	host := startWith(t, `exec sleep 1000`, os.Stdin)
	d := startDoomed(t, doom{Commands: []string{`bash -c "$p" & wait`}, Duties: process.Duties{Host: host.PID}})
	pids := d.pids(1)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGSTOP), "it will not notice")
	require.True(t, host.End(syscall.SIGKILL, 0))
	require.Empty(t, d.guardianEnds())
	require.Empty(t, living(pids))
	require.Error(t, d.cmd.Wait(), "it was killed")
}

func TestGuardianIgnoresSignals(t *testing.T) {
	t.Parallel()
	d := startDoomed(t, doom{Commands: []string{`bash -c "$p" & wait`}})
	pids := d.pids(1)
	guardian := d.guardian()
	eventually(t, "the guardian is ready", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", guardian))
		return regexp.MustCompile(`SigIgn:\t[0-9a-f]*[4-7c-f][0-9a-f]{3}\n`).Match(text) // SIGTERM
	})
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		require.NoError(t, syscall.Kill(guardian, sig))
	}
	d.kill()
	require.Empty(t, living(pids))
}

// A stopped guardian blocks no command; woken, it does its work, though it has
// not been told of everything.
func TestStoppedGuardian(t *testing.T) {
	t.Parallel()
	d := startDoomed(t, doom{})
	guardian := d.guardian()
	require.NoError(t, syscall.Kill(guardian, syscall.SIGSTOP))
	for range 300 {
		d.do("true &")
	}
	d.do(`echo 0 >&3; setsid -f bash -c "$p"; exec sleep 1000`)
	d.pids(1)
	require.NoError(t, syscall.Kill(guardian, syscall.SIGCONT))
	d.kill()
}

// A command can neither write to the guardian nor, through it, to the plugin's
// stderr, which a host reads as log lines.
func TestGuardianIsOutOfReach(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	t.Parallel()
	d := startDoomed(t, doom{})
	files := fmt.Sprintf("/proc/%d/fd/", d.guardian())
	_, err := os.OpenFile(files+"3", os.O_WRONLY, 0)
	require.ErrorIs(t, err, syscall.ENXIO)
	for _, fd := range []string{"0", "2"} {
		file, err := os.Readlink(files + fd)
		require.NoError(t, err)
		require.Equal(t, os.DevNull, file)
	}
	d.kill()
}
