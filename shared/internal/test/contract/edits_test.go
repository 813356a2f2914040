//go:build unix

package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// Output that erases a line of 64 KiB at its end does not touch other jobs.
func TestALineThatIsErasedAtItsLimit(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := plugintest.Background(t, bash, "echo ready; "+plugintest.Forever)
	plugintest.AwaitText(t, bash, job.PID, "ready")
	r := plugintest.Run(t, bash, `printf '%060000d\b' 0; printf '%05537d' 0; printf '\033[1K'; sleep 0.2; printf x`)
	assert.Equal(t, shared.StatusCompleted, r.Status)
	assert.EqualValues(t, 65536+1, r.Stdout.TotalBytes)
	assert.True(t, strings.HasSuffix(r.Stdout.Content, "  x"))
	assert.Equal(t, shared.StatusRunning, plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID}).Status)
}

// Clipboards, images and titles of any length that programs send are no text.
func TestLongEscapesAreNoText(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Run(t, bash, `text=$(head -c 300000 /dev/zero | base64 -w0)
		printf 'be'; printf '\033]52;c;%s\a' "$text"; printf 'fore '
		for i in 1 2 3 4; do printf '\033_Gm=1;%s\033\\' "${text:0:4096}"; done
		printf '\033P0;1q%s\033\\' "$text"
		printf 'after\none\vtwo\fthree\r\v'
		printf '\033]0;never ended %s\nnext\n' "$text"`)
	assert.Equal(t, "before after\none\ntwo\nthree\n\nnext\n", r.Stdout.Content)
}

// Calls on a job that edits a long line again and again take about as long as those on a
// job that draws a progress bar.
func TestCallsBesideAFloodOfEdits(t *testing.T) { // not parallel: it measures
	bash := plugintest.Launch(t)
	flood := func(before, unit string) (typical, slowest time.Duration) {
		pid := plugintest.Background(t, bash, before+"; yes $'"+unit+"' | tr -d '\\n'").PID
		plugintest.Eventually(t, "the flood", func() bool {
			return plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Peek: true}).Stdout.Dropped > 100_000
		})
		var took []time.Duration
		for range 10 {
			begin := time.Now()
			plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
			took = append(took, time.Since(begin))
		}
		plugintest.Kill(t, bash, pid)
		slices.Sort(took)
		return took[len(took)/2], took[len(took)-1]
	}
	_, bar := flood("true", `\r[##########..........] 50%`)
	for _, unit := range []string{`\e[1K`, `\rx\e[59000G\e[1K`, `\e[2Kx`} {
		took, _ := flood(`printf '%060000d\b\b' 0`, unit)
		t.Logf("beside %s: %v; the slowest beside a progress bar: %v", unit, took, bar)
		require.Less(t, took, 100*bar, unit)
	}
}
