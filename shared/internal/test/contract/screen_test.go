//go:build unix

package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// hostile are commands that write what costs a terminal much, without end.
var hostile = map[string]string{
	"repeats":                 `printf A; for i in {1..15000}; do printf '\033[65535b'; done; ` + plugintest.Forever,
	"endless repeats":         `printf A; yes $'\e[65535b' | tr -d '\n'`,
	"long numbers":            `printf A; yes $'\e[999999999999999b\e[999999999999999I\e[999999999999999X' | tr -d '\n'`,
	"scrolls up":              `yes $'\e[100S' | tr -d '\n'`,
	"scrolls down":            `yes $'\e[999T\e[H\e[L' | tr -d '\n'`,
	"newlines":                `yes ''`,
	"newlines under text":     `yes $'\e[200Hx\e[?7l\n' | tr -d '\r'`,
	"erasing":                 `yes $'\e[200;500HA\e[9999b\e[2J\e[3J\e[41m\e[H\e[J' | tr -d '\n'`,
	"resets":                  `yes $'\ec' | tr -d '\n'`,
	"other screens":           `yes $'\e[?1049h\e[?1049l\e[?47h\e[?1047l' | tr -d '\n'`,
	"margins beyond the end":  `yes $'\e[1;9999r\e[S\e[9999;1H\n\e[?69h\e[1;9999s\e[9P\e[9@'`,
	"questions":               `stty raw -echo; yes $'\e[c\e[>c\e[5n\e[6n\e[?6n\e[?7$p\e]10;?\a' | tr -d '\n'`,
	"a string without an end": `printf '\e]0;'; yes 'x;;;;' | tr -d '\n'`,
	"a string of semicolons": `million() { head -c 1000000 /dev/zero | tr '\0' "$1"; }
		while :; do printf '\e]'; million 0; printf 2147483647; million ';'; printf '\a'; done`,
	"links":                `for ((i = 0; ; i++)); do printf '\e]8;;%0900d\a%500s' $i; done`,
	"colours":              `for ((i = 0; ; i++)); do printf '\e[38;2;%d;%d;9m%500s' $((i % 256)) $((i / 256 % 256)); done`,
	"modes":                `for ((i = 0; ; i++)); do printf '\e[?%d;9%dh\e[%dh' $i $i $i; done`,
	"accents":              `yes $'\u754c\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309' | tr -d '\n'`,
	"one letter's accents": `printf '\u754c'; yes $'\u0301' | tr -d '\n'`,
	"wide characters":      `yes $'\e[999C\u754c\e[D\u754c\e[9P\e[9@' | tr -d '\n'`,
	"noise":                `cat /dev/urandom`,
}

// pace is how long calls take.
type pace struct{ check, other, execute time.Duration }

func (p pace) String() string {
	return fmt.Sprintf("Check of it %v, Check of another job %v, Execute %v", p.check, p.other, p.execute)
}

// isLike reports whether calls take at most ten times as long as in q.
func (p pace) isLike(q pace) bool {
	return p.check < 10*q.check && p.other < 10*q.other && p.execute < 10*q.execute
}

// paceBeside runs a command in a large terminal and measures other calls, their medians.
func paceBeside(t *testing.T, bash *host.Client, command string) pace {
	t.Helper()
	plugin := bash.PluginPID()
	other := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.Forever, Mode: shared.ModeBackground}).PID
	pid := plugintest.Execute(t, bash, shared.ExecuteRequest{
		Command: command, Mode: shared.ModeBackground,
		Stdin: shared.StdinTTY, Columns: shared.MaxColumns, Rows: shared.MaxRows,
	}).PID
	plugintest.Eventually(t, "output", func() bool {
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Peek: true})
		return r.Stdout.TotalBytes+r.Stdout.Dropped > 16<<10
	})
	p := pace{
		check:   median(func() { plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Peek: true}) }),
		other:   median(func() { plugintest.Check(t, bash, shared.CheckRequest{PID: other, Peek: true}) }),
		execute: median(func() { plugintest.Run(t, bash, "true") }),
	}
	require.Equal(t, shared.StatusRunning, plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Status)
	assert.Equal(t, shared.CauseKill, plugintest.Kill(t, bash, pid).Cause)
	plugintest.Kill(t, bash, other)
	require.Equal(t, plugin, bash.PluginPID(), "the plugin has survived")
	return p
}

// median is how long a call takes.
func median(call func()) time.Duration {
	var took []time.Duration
	for range 15 {
		begin := time.Now()
		call()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// Whatever a command makes its terminal draw, calls are as quick as beside a plain flood.
func TestNobodyWaitsForATerminal(t *testing.T) {
	bash := plugintest.Launch(t)
	flood := paceBeside(t, bash, "yes")
	for name, command := range hostile {
		t.Run(name, func(t *testing.T) {
			for range 5 { // the machine may have been busy with something else
				p := paceBeside(t, bash, command)
				t.Logf("%v; beside a flood: %v", p, flood)
				if p.isLike(flood) {
					return
				}
				flood = paceBeside(t, bash, "yes")
			}
			assert.Fail(t, "calls are slower than beside a flood")
		})
	}
}
