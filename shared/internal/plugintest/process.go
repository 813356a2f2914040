//go:build unix

package plugintest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"bashplugin/shared/host"
)

// Alive reports whether a process runs. A zombie does not, unless some of its
// threads still run.
func Alive(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	afterName := text[bytes.LastIndexByte(text, ')')+1:] // the name may contain anything
	fields := strings.Fields(string(afterName))
	return len(fields) > 17 && (fields[0] != "Z" && fields[0] != "X" || fields[17] > "1")
}

// Stop stops a process for the length of a test.
func Stop(t testing.TB, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	Eventually(t, "the process is stopped", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(text), ") ")
		return strings.HasPrefix(rest, "T")
	})
}

// Crash kills the plugin and returns when the client can know.
func Crash(t testing.TB, bash *host.Client) {
	t.Helper()
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
	Eventually(t, "the plugin's end", func() bool { return bash.PluginPID() == 0 })
}

// Guardian finds a plugin's second process.
func Guardian(t testing.TB, plugin int) int {
	t.Helper()
	for _, pid := range Children(t, plugin) {
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); string(text) == "bash-guardian\x00" {
			return pid
		}
	}
	require.FailNow(t, "the plugin has no guardian")
	return 0
}

// Children lists the children of a process, dead ones included.
func Children(t testing.TB, parent int) []int {
	t.Helper()
	var pids []int
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	require.NoError(t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		pids = append(pids, Numbers(t, string(text))...)
	}
	return pids
}

// Descriptors counts the open files of a process.
func Descriptors(t testing.TB, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	return len(entries)
}

// Status returns a number of /proc/PID/status.
func Status(t testing.TB, pid int, field string) int {
	t.Helper()
	for line := range strings.Lines(ReadFile(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			require.NoError(t, err)
			return n
		}
	}
	require.FailNow(t, "no "+field)
	return 0
}

// Memory is the most that a process has held, in bytes.
func Memory(t testing.TB, pid int) int {
	t.Helper()
	return Status(t, pid, "VmHWM") << 10
}

// Held is what a plugin holds.
type Held struct{ Descriptors, Threads, Children, RSS int }

// Holds looks at what a plugin holds.
func Holds(t testing.TB, plugin int) Held {
	t.Helper()
	return Held{
		Descriptors: Descriptors(t, plugin),
		Threads:     Status(t, plugin, "Threads"),
		Children:    len(Children(t, plugin)),
		RSS:         Status(t, plugin, "VmRSS") << 10,
	}
}

// manyThreads is how many threads more a plugin may have: the runtime ends none that it
// has started under load. A thread that each of hundreds of commands leaves is more.
const manyThreads = 15

// RequireBack waits until the plugin holds no more than before.
func RequireBack(t testing.TB, plugin int, before Held) {
	t.Helper()
	var now Held
	defer func() { t.Logf("before %+v, after %+v", before, now) }()
	Eventually(t, "the plugin holds no more than before", func() bool {
		now = Holds(t, plugin)
		return now.Descriptors <= before.Descriptors && now.Children <= before.Children &&
			now.Threads <= before.Threads+manyThreads && now.RSS <= before.RSS+slack()
	})
}

// slack is how much memory the runtime may keep. The race detector takes
// several times that of what it watches.
func slack() int {
	if Race() {
		return 192 << 20
	}
	return 48 << 20
}

// Scale makes a load heavier where there is time for it.
func Scale() int {
	if os.Getenv("SOAK") != "" {
		return 10
	}
	return 1
}
