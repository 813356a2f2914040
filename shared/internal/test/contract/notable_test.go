//go:build unix

package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

const failingBuild = `echo 'main.go:7: unused'; seq 3000; echo 'error: early'; seq 500000; echo 'it failed late'; seq 3000; echo 'E: Unable to fetch'; seq 3000; echo done`

// grep -n in the log finds the same.
func TestNotableLinesOfWhatWasCut(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	all := "1:main.go:7: unused\n3002:error: early\n503003:it failed late\n506004:E: Unable to fetch\n"
	for _, ends := range []int{0, 1000} {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: failingBuild, Limits: shared.Limits{Notable: 10, Ends: ends}})
		want := all
		if ends > 0 {
			want = strings.TrimPrefix(all, "1:main.go:7: unused\n") // which Head shows
		}
		assert.Equal(t, want, listLines(r.Stdout.Notable))
		grep := plugintest.Run(t, bash, "grep -nE 'go:7|error|failed|^E: ' "+r.Stdout.Path)
		assert.Equal(t, all, grep.Stdout.Content)
	}
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: failingBuild, Limits: shared.Limits{Notable: 2}})
	assert.Equal(t, "1:main.go:7: unused\n506004:E: Unable to fetch\n", listLines(r.Stdout.Notable), "the first and the last")
	assert.Empty(t, plugintest.Run(t, bash, failingBuild).Stdout.Notable)
	r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo error; echo fatal", Limits: shared.Limits{Notable: 10}})
	assert.Empty(t, r.Stdout.Notable, "nothing was cut")
	for _, n := range []int{-1, 101} {
		_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Limits: shared.Limits{Notable: n}})
		assert.Equal(t, "Limits.Notable", plugintest.RequireCode(t, err, shared.ErrInvalid).Field)
	}
}

// A line that is longer than what is searched at a time is listed once, by its beginning.
func TestNotableLinesThatAreVeryLong(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	begins := "long " + strings.Repeat("x", 495)
	for _, test := range []struct{ command, want string }{
		// An error in both ends of what is cut, in the first, in the last, behind a beginning that
		// Head shows, and everywhere.
		{"seq 1000; printf 'long '; " + filler + "; echo ' error'; seq 500000", "1001:" + begins + "\n"},
		{"seq 1000; printf 'long '; " + filler + "; printf error; " + filler + filler2, "1001:" + begins + "\n"},
		{"seq 1000; printf 'long '; " + filler + filler2 + "; printf ' error '; " + filler + "; seq 50000", "1001:" + begins + "\n"},
		{"printf 'long '; " + filler + "; printf error; " + filler, "1:" + begins + "\n"},
		{"yes 'long xxxxxx error' | head -c 3000000 | tr '\\n' ' '", "1:" + strings.Repeat("long xxxxxx error ", 30)[:500] + "\n"},
	} {
		for _, ends := range []int{0, 1000} {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: test.command, Limits: shared.Limits{Notable: 10, Ends: ends}})
			assert.Equal(t, test.want, listLines(r.Stdout.Notable), test.command)
		}
	}
}

const (
	filler  = "head -c 3000000 /dev/zero | tr '\\0' x"
	filler2 = "; " + filler + "; " + filler + "; " + filler + "; " + filler
)

func TestNotableLinesOfTheOutputSinceTheLastCheck(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	g := plugintest.NewGate(t)
	pid := plugintest.Background(t, bash, "echo error one; seq 99; "+g.Wait()+"; seq 3000; echo error two; seq 3000").PID
	plugintest.AwaitText(t, bash, pid, "99\n")
	g.Open(t)
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, Limits: shared.Limits{Notable: 10}})
	assert.Equal(t, "3101:error two\n", listLines(r.Stdout.Notable))
}

func listLines(lines []shared.Line) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%d:%s\n", line.Number, line.Text)
	}
	return b.String()
}
