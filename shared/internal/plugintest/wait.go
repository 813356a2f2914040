//go:build unix

package plugintest

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// Eventually polls for what no call can wait for, ever more slowly: many tests wait at
// the same time.
func Eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	const rarest = 20 * time.Millisecond
	deadline := time.Now().Add(Hang)
	pause := time.Millisecond
	for !happened() {
		require.True(t, time.Now().Before(deadline), "not within %v: %s", Hang, what)
		time.Sleep(pause)
		pause = min(2*pause, rarest)
	}
}

// AwaitDeath waits for the end of processes.
func AwaitDeath(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.Positive(t, pid)
		Eventually(t, "the end of process "+strconv.Itoa(pid), func() bool { return !Alive(pid) })
	}
}

// AwaitFile returns the content of a file once it ends in a newline.
func AwaitFile(t testing.TB, path string) string {
	t.Helper()
	var text string
	Eventually(t, "a line in "+path, func() bool {
		content, _ := os.ReadFile(path)
		text = string(content)
		return strings.HasSuffix(text, "\n")
	})
	return text
}

// Cancelable returns a context of the test that the test may end.
func Cancelable(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// Outcome is what a call in another goroutine came to.
type Outcome struct {
	Result *shared.Result
	Err    error
}

// Start makes a call in another goroutine.
func Start(call func() (*shared.Result, error)) <-chan Outcome {
	done := make(chan Outcome, 1)
	go func() {
		r, err := call()
		done <- Outcome{Result: r, Err: err}
	}()
	return done
}

// StartExecute runs a request in another goroutine.
func StartExecute(ctx context.Context, bash shared.Bash, req shared.ExecuteRequest) <-chan Outcome {
	return Start(func() (*shared.Result, error) { return bash.Execute(ctx, req) })
}

// Await receives, or fails the test where the other side hangs.
func Await[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Hang):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}
