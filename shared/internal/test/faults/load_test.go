//go:build unix

package faults

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// However much is written, in whatever way, the plugin's memory has a bound.
func TestFaultMemory(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{MaxLogBytes: 1 << 20})
	size := plugintest.Scale() * 24 << 20
	if plugintest.Race() { // which makes it ten times as slow
		size /= 4
	}
	plugintest.Run(t, bash, "seq 1000000")
	before := plugintest.Memory(t, bash.PluginPID())
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
			r := plugintest.Run(t, bash, fmt.Sprintf(flood, size))
			assert.Equal(t, shared.StatusCompleted, r.Status)
		})
	}
	after := plugintest.Memory(t, bash.PluginPID())
	t.Logf("16 floods of %d MiB: from %d to %d MiB", size>>20, before>>20, after>>20)
	assert.Less(t, after-before, 64<<20)
}

func TestFaultThousandsInARow(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	n := 700 * plugintest.Scale()
	kinds := []func(i int){
		func(i int) {
			assert.Equal(t, fmt.Sprintln(i), plugintest.Run(t, bash, fmt.Sprint("echo ", i)).Stdout.Content)
		},
		func(int) { plugintest.Run(t, bash, "true") },
		func(int) { plugintest.Run(t, bash, "(setsid true &); false") },
		func(int) {
			plugintest.Kill(t, bash, plugintest.Background(t, bash, "setsid "+plugintest.Forever+" & "+plugintest.Forever).PID)
		},
		func(i int) {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: fmt.Sprint("exit ", i%100), Mode: shared.ModeBackground})
			assert.Equal(t, i%100, plugintest.AwaitEnd(t, bash, r.PID).ExitCode)
		},
	}
	round := func(from, to int) {
		for i := from; i < to; i++ {
			kinds[i%len(kinds)](i)
		}
	}
	round(0, 300) // fills the caches, and begins to fill the finished jobs
	before := plugintest.Holds(t, bash.PluginPID())
	begin := time.Now()
	round(300, n)
	t.Logf("%d calls and more, %v each", n-300, (time.Since(begin) / time.Duration(n-300)).Round(time.Microsecond))
	plugintest.Kill(t, bash, shared.AllJobs)
	plugintest.RequireBack(t, bash.PluginPID(), before)
}

func TestFault200AtOnce(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	var before plugintest.Held
	for round := range 1 + faultRounds() {
		if round == 1 { // the first one has filled caches and started threads
			plugintest.RequireBack(t, bash.PluginPID(), plugintest.Held{Descriptors: 30, Threads: 300, Children: 1, RSS: 64 << 20})
			before = plugintest.Holds(t, bash.PluginPID())
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
		assert.Len(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs, 200)
		for i, pid := range pids {
			wg.Go(func() {
				r, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid, All: true})
				if assert.NoError(t, err) {
					assert.Equal(t, plugintest.Seq(1, i), r.Stdout.Content)
				}
			})
		}
		wg.Wait()
		begin := time.Now()
		plugintest.Kill(t, bash, shared.AllJobs)
		t.Logf("200 jobs killed in %v", time.Since(begin).Round(time.Millisecond))
		crowd.awaitGone()
		require.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs)
	}
	plugintest.RequireBack(t, bash.PluginPID(), before)
}
