package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/process"
)

func TestGuardianCleansUpAfterAKill(t *testing.T) {
	var worst []time.Duration
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			tab := table(t) // orphans of the killed come to this process, which must reap them
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "socket"), nil, 0o600))
			d := startDoomed(t, doom{Commands: []string{tree.text}, Duties: process.Duties{Remove: []string{folder}}})
			pids := d.pids(tree.n)
			killed := time.Now()
			require.NoError(t, d.cmd.Process.Kill())
			require.Empty(t, d.guardianEnds())
			require.Empty(t, living(pids), "alive after the guardian's end")
			worst = append(worst, time.Since(killed))
			d.silent()
			require.NoDirExists(t, folder)
			_ = d.cmd.Wait()
			tab.Sweep()
		})
	}
	slices.Sort(worst)
	t.Logf("%d kills, until clean: median %v, worst %v", len(worst), worst[len(worst)/2], worst[len(worst)-1])
}

// guardianEndsAll kills a plugin that runs a command, and waits until nothing of
// that lives.
func guardianEndsAll(t *testing.T, command string) {
	t.Helper()
	tab := table(t)
	d := startDoomed(t, doom{Commands: []string{command}})
	d.pids(1)
	require.NoError(t, d.cmd.Process.Kill())
	require.Empty(t, d.guardianEnds())
	d.silent()
	_ = d.cmd.Wait()
	tab.Sweep()
}

func TestGuardianBeatsForks(t *testing.T) {
	for name, text := range forkers {
		t.Run(name, func(t *testing.T) {
			guardianEndsAll(t, text)
		})
	}
}

// A session within the plugin's ends with it, though its guardian does, too.
func TestGuardianEndsASessionWithin(t *testing.T) {
	for name, text := range forkers {
		t.Run(name, func(t *testing.T) {
			inner, err := json.Marshal(doom{Commands: []string{text}})
			require.NoError(t, err)
			guardianEndsAll(t, "export "+doomedEnv+"='"+strings.ReplaceAll(string(inner), "'", `'\''`)+"'; sleep 1000 | $program")
		})
	}
}

func TestGuardianHasNothingToDoAfterAnOrderlyEnd(t *testing.T) {
	tab := table(t)
	d := startDoomed(t, doom{Commands: []string{`bash -c "$p" & wait`, `(setsid bash -c "$p" &)`}})
	pids := d.pids(2)
	require.NoError(t, d.stdin.Close())
	require.Empty(t, d.guardianEnds())
	require.Empty(t, living(pids))
	require.NoError(t, d.cmd.Wait())
	tab.Sweep()
}

func TestGuardianKillsWhatOutlivesItsHost(t *testing.T) {
	tab := table(t)
	host := startWith(t, tab, `exec sleep 1000`, os.Stdin)
	d := startDoomed(t, doom{Commands: []string{`bash -c "$p" & wait`}, Duties: process.Duties{Host: host.PID}})
	pids := append(d.pids(1), d.cmd.Process.Pid)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGSTOP), "it will not notice")
	require.True(t, host.End(syscall.SIGKILL, 0))
	require.Empty(t, d.guardianEnds())
	require.Empty(t, living(pids))
	_ = d.cmd.Wait()
	tab.Sweep()
}

func TestGuardianIgnoresSignals(t *testing.T) {
	tab := table(t)
	d := startDoomed(t, doom{Commands: []string{`bash -c "$p" & wait`}})
	pids := d.pids(1)
	guardian := 0
	for _, pid := range childPIDs(d.cmd.Process.Pid) {
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); string(text) == process.GuardianName+"\x00" {
			guardian = pid
		}
	}
	require.NotZero(t, guardian)
	eventually(t, "the guardian is ready", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", guardian))
		return regexp.MustCompile(`SigIgn:\t[0-9a-f]*[4-7c-f][0-9a-f]{3}\n`).Match(text) // SIGTERM
	})
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		require.NoError(t, syscall.Kill(guardian, sig))
	}
	require.NoError(t, d.cmd.Process.Kill())
	require.Empty(t, d.guardianEnds())
	require.Empty(t, living(pids))
	_ = d.cmd.Wait()
	tab.Sweep()
}
