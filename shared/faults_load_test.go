//go:build unix

package shared_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// faultScale makes the load heavier where there is time for it.
func faultScale() int {
	if os.Getenv("SOAK") != "" {
		return 10
	}
	return 1
}

// However much is written, in whatever way, the plugin's memory has a bound.
func TestFaultMemory(t *testing.T) {
	t.Parallel()
	bash := launchWith(t, host.LaunchConfig{MaxLogBytes: 1 << 20})
	size := faultScale() * 24 << 20
	if plugintest.Race() { // which makes it ten times as slow
		size /= 4
	}
	run(t, bash, "seq 1000000")
	before := memory(t, bash.PluginPID())
	for name, flood := range map[string]string{
		"without a newline":    "head -c %d /dev/zero | tr '\\0' x",
		"newlines":             "head -c %d /dev/zero | tr '\\0' '\\n'",
		"carriage returns":     "head -c %d /dev/zero | tr '\\0' '\\r'",
		"backspaces":           "head -c %d /dev/zero | tr '\\0' '\\b'",
		"NULs":                 "head -c %d /dev/zero",
		"unfinished CSIs":      "yes $'\\e[1;2;3' | tr -d '\\n' | head -c %d",
		"one unfinished CSI":   "printf '\\e['; yes '1;2;3;' | tr -d '\\n' | head -c %d",
		"one unfinished OSC":   "printf '\\e]0;'; head -c %d /dev/zero | tr '\\0' x",
		"one unfinished DCS":   "printf '\\eP'; head -c %d /dev/zero | tr '\\0' x",
		"escapes":              "head -c %d /dev/zero | tr '\\0' '\\033'",
		"jumps to the right":   "yes $'\\e[512Gx' | head -c %d",
		"erasing":              "printf '%%060000d' 0; yes $'\\rx\\e[59000G\\e[1K' | tr -d '\\n' | head -c %d",
		"column moves":         "yes $'\\e[1000000000C\\e[9Gx' | tr -d '\\n' | head -c %d",
		"halves of runes":      "head -c %d /dev/zero | tr '\\0' '\\303'",
		"overwritten lines":    "yes $'\\rprogress\\e[K' | tr -d '\\n' | head -c %d",
		"combining characters": "yes $'e\\u0301' | tr -d '\\n' | head -c %d",
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, bash, fmt.Sprintf(flood, size))
			assert.Equal(t, shared.StatusCompleted, r.Status)
		})
	}
	after := memory(t, bash.PluginPID())
	t.Logf("16 floods of %d MiB: from %d to %d MiB", size>>20, before>>20, after>>20)
	assert.Less(t, after-before, 64<<20)
}

// faultHeld is what a plugin holds.
type faultHeld struct{ descriptors, threads, children, rss int }

func faultHolds(t *testing.T, plugin int) faultHeld {
	t.Helper()
	return faultHeld{faultDescriptors(t, plugin), faultStatus(t, plugin, "Threads"), len(faultChildren(t, plugin)), faultStatus(t, plugin, "VmRSS") << 10}
}

// faultSlack is how much memory the runtime may keep. The race detector takes
// several times that of what it watches.
func faultSlack() int {
	if plugintest.Race() {
		return 192 << 20
	}
	return 48 << 20
}

// requireFaultBack waits until the plugin holds no more than before.
func requireFaultBack(t *testing.T, plugin int, before faultHeld) {
	t.Helper()
	var now faultHeld
	defer func() { t.Logf("before %+v, after %+v", before, now) }()
	eventually(t, "the plugin holds no more than before", func() bool {
		now = faultHolds(t, plugin)
		return now.descriptors <= before.descriptors && now.children <= before.children &&
			now.threads <= before.threads+15 && now.rss <= before.rss+faultSlack()
	})
}

func TestFaultThousandsInARow(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	n := 700 * faultScale()
	kinds := []func(i int){
		func(i int) {
			assert.Equal(t, fmt.Sprintln(i), run(t, bash, fmt.Sprint("echo ", i)).Stdout.Content)
		},
		func(int) { run(t, bash, "true") },
		func(int) { run(t, bash, "(setsid true &); false") },
		func(int) { kill(t, bash, background(t, bash, "setsid "+forever+" & "+forever).PID) },
		func(i int) {
			r := execute(t, bash, shared.ExecuteRequest{Command: fmt.Sprint("exit ", i%100), Mode: shared.ModeBackground})
			assert.Equal(t, i%100, awaitEnd(t, bash, r.PID).ExitCode)
		},
	}
	round := func(from, to int) {
		for i := from; i < to; i++ {
			kinds[i%len(kinds)](i)
		}
	}
	round(0, 300) // fills the caches, and begins to fill the finished jobs
	before := faultHolds(t, bash.PluginPID())
	begin := time.Now()
	round(300, n)
	t.Logf("%d calls and more, %v each", n-300, (time.Since(begin) / time.Duration(n-300)).Round(time.Microsecond))
	kill(t, bash, shared.AllJobs)
	requireFaultBack(t, bash.PluginPID(), before)
}

func TestFault200AtOnce(t *testing.T) {
	t.Parallel()
	bash := launch(t)
	var before faultHeld
	for round := range 1 + faultRounds() {
		if round == 1 { // the first one has filled caches and started threads
			requireFaultBack(t, bash.PluginPID(), faultHeld{30, 300, 1, 64 << 20})
			before = faultHolds(t, bash.PluginPID())
		}
		crowd := newFaultCrowd(t)
		pids := make([]int, 200)
		var wg sync.WaitGroup
		for i := range pids {
			wg.Go(func() {
				r, err := bash.Execute(t.Context(), shared.ExecuteRequest{
					Command: crowd.command(fmt.Sprintf(`seq %d; bash -c "$p"`, i)), Mode: shared.ModeBackground,
				})
				if assert.NoError(t, err) {
					pids[i] = r.PID
				}
			})
		}
		wg.Wait()
		crowd.await(200)
		assert.Len(t, check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs, 200)
		for i, pid := range pids {
			wg.Go(func() {
				r, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid, All: true})
				if assert.NoError(t, err) {
					assert.Equal(t, seq(1, i), r.Stdout.Content)
				}
			})
		}
		wg.Wait()
		begin := time.Now()
		kill(t, bash, shared.AllJobs)
		t.Logf("200 jobs killed in %v", time.Since(begin).Round(time.Millisecond))
		crowd.awaitGone()
		require.Empty(t, check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	}
	requireFaultBack(t, bash.PluginPID(), before)
}
