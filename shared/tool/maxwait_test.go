//go:build unix

package tool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// However the timeout of a command and MaxWait meet, the answers put together have each
// byte once.
func TestEachByteOnceWhereTheTimeoutMeetsMaxWait(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	for _, dialect := range []tool.Dialect{tool.Native, tool.Claude} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			turns := make(chan struct{}, 12)
			var rounds sync.WaitGroup
			for round := range uint64(60) {
				turns <- struct{}{}
				rounds.Go(func() {
					readNumbers(t, dialect, rand.New(rand.NewPCG(seed, round)))
					<-turns
				})
			}
			rounds.Wait()
		})
	}
}

// readNumbers reads the output of a command that writes all the time, as a model does.
func readNumbers(t *testing.T, dialect tool.Dialect, dice *rand.Rand) {
	const lines = 400
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	wait := time.Duration(200+dice.IntN(100)) * time.Millisecond
	a := newAgentWith(t, dialect, plugin, tool.Options{
		Timeout: wait + time.Duration(dice.IntN(2)*(dice.IntN(4001)-3000))*time.Microsecond,
		MaxWait: wait,
		Limits:  shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes},
	})
	a.door("silent")
	answer := a.runs(fmt.Sprintf(`exec 3<>silent; for i in {1..%d}; do echo $i; read -rt 0.001 -u 3; done`, lines))
	if answer.Result != nil && answer.Result.PID == 0 {
		return // this machine is so slow that MaxWait was over before the command was started
	}
	id, names := answer.ID, jobTools[dialect]
	var read strings.Builder
	for running := true; running; {
		if !assert.NotNil(t, answer.Result, answer.Text) {
			return
		}
		content := answer.Result.Stdout.Content
		assert.Contains(t, answer.Text, strings.TrimSuffix(content, "\n"))
		read.WriteString(content)
		running = answer.Result.Status == shared.StatusRunning
		if running { // in both dialects either no wait, or one that lasts until MaxWait or the end
			answer = a.use(names.output, args{names.id: id, "wait": 600 * min(1, dice.IntN(4))})
		}
	}
	assert.Equal(t, want.String(), read.String(), "%s", answer.Text)
}

// killer is a Bash where another client kills each job as soon as a Check has returned.
type killer struct{ shared.Bash }

func (k killer) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	r, err := k.Bash.Check(ctx, req)
	if err == nil {
		_, _ = k.Kill(ctx, shared.KillRequest{PID: r.PID})
	}
	return r, err
}

// The account of a job that another client kills during the call is not lost.
func TestOutputOfAJobThatGoesDuringTheCall(t *testing.T) {
	t.Parallel()
	for dialect, names := range jobTools {
		for call, arguments := range map[string]string{names.output: names.id, names.kill: names.killID} {
			a := newAgentOver(t, dialect, killer{plugin})
			started := a.run(args{"command": "echo here; " + plugintest.Forever, names.start: true})
			awaitText(t, started.Result.Stdout.Path, "here\n")
			answer := a.use(call, args{arguments: started.ID})
			assert.False(t, answer.IsError, answer.Text)
			assert.Contains(t, answer.Text, "here", "%s of %s", call, dialect)
		}
	}
	a := newAgentOver(t, tool.CheckPID, killer{plugin})
	open := a.door("end")
	left := a.runs("read < end & echo here")
	require.NotEmpty(t, left.Result.Leftover)
	open()
	a.awaitEnd(left.Result.PID)
	answer := a.run(args{"check_pid": left.Result.PID})
	assert.NoError(t, answer.Err, answer.Text)
	assert.Contains(t, answer.Text, "exited with code 0")
}

// newSeed returns the seed in the variable SEED, which repeats a run, or a new one.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("SEED=%d", seed)
	return seed
}
