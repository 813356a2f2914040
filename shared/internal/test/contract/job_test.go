//go:build unix

package contract

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// What reads from bash and is at work when bash ends may write the rest: the
// output of a command that sends it through a tee is the command's. How long
// that takes is the system's to say, so that not every time must do; but where
// nothing is left, nothing is missing.
func TestOutputThroughATeeIsTheCommands(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for _, command := range []string{
		"exec > >(tee copy); echo hi",
		"bash -c 'exec > >(sed s/ho/hi/ | tee copy) 2>&1; echo ho >&2'",
		"exec > >(read -r line; for ((i = 0; i < 8000; i++)); do :; done; echo $line); echo hi", // some milliseconds of work
	} {
		whole := 0
		for range 20 {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Dir: t.TempDir()})
			if len(r.Leftover) > 0 {
				plugintest.Kill(t, bash, r.PID)
				continue
			}
			require.Equal(t, "hi\n", r.Stdout.Content)
			_, err := bash.Check(t.Context(), shared.CheckRequest{PID: r.PID})
			plugintest.RequireCode(t, err, shared.ErrNotFound) // it is no job
			whole++
		}
		assert.Positive(t, whole, command)
	}
}

// Meaning 3: a job is a command that outlived its Execute or left processes
// behind. It stays readable until it is killed or evicted.
func TestMeaning3WhatIsAJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	requireNoJob := func(t *testing.T, pid int) {
		t.Helper()
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: pid})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
		_, err = bash.Kill(t.Context(), shared.KillRequest{PID: pid})
		plugintest.RequireCode(t, err, shared.ErrNotFound)
	}
	t.Run("a plain finished command is none", func(t *testing.T) {
		requireNoJob(t, plugintest.Run(t, bash, "echo a lot; exit 4").PID)
	})
	t.Run("a finished job stays readable", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo text; exit 6").PID
		for range 3 {
			r := plugintest.AwaitEnd(t, bash, pid)
			assert.Equal(t, shared.StatusFailed, r.Status)
			assert.Equal(t, 6, r.ExitCode)
			assert.Equal(t, "text\n", r.Stdout.Content)
		}
	})
	t.Run("Kill of a finished job succeeds and forgets it", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo one; echo two; exit 6").PID
		require.Equal(t, "one\ntwo\n", plugintest.AwaitEnd(t, bash, pid).Stdout.Content)
		r := plugintest.Kill(t, bash, pid)
		assert.Equal(t, shared.StatusFailed, r.Status, "it ended by itself")
		assert.Equal(t, 6, r.ExitCode)
		assert.Empty(t, r.Cause)
		assert.Equal(t, "one\ntwo\n", r.Stdout.Content, "from the first byte")
		requireNoJob(t, pid)
	})
	t.Run("Kill of a running job forgets it", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "echo one; "+plugintest.Forever).PID
		plugintest.AwaitText(t, bash, pid, "one")
		r := plugintest.Kill(t, bash, pid)
		assert.Equal(t, shared.StatusKilled, r.Status)
		assert.Equal(t, shared.CauseKill, r.Cause)
		assert.Equal(t, "one\n", r.Stdout.Content, "from the first byte")
		assert.FileExists(t, r.Stdout.Path, "the log that a Result names outlives the job")
		requireNoJob(t, pid)
	})
	t.Run("a command that left processes behind is one", func(t *testing.T) {
		r := plugintest.Run(t, bash, plugintest.Forever+" & echo $!")
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Equal(t, shared.StatusCompleted, plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID}).Status)
		plugintest.Kill(t, bash, r.PID)
		requireNoJob(t, r.PID)
	})
	t.Run("an unknown pid says which", func(t *testing.T) {
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: 999999999})
		assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrNotFound).Message, "999999999")
	})
}

func TestTheOldestFinishedJobIsEvicted(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	first := plugintest.Background(t, bash, "echo first").PID
	plugintest.AwaitEnd(t, bash, first)
	pids := map[int]bool{first: true}
	for len(pids) <= 256 {
		pid := plugintest.Background(t, bash, "true").PID
		plugintest.AwaitEnd(t, bash, pid)
		pids[pid] = true
	}
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: first})
	plugintest.RequireCode(t, err, shared.ErrNotFound)
	list := plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs})
	assert.Len(t, list.Jobs, 256)
	for _, job := range list.Jobs {
		assert.True(t, pids[job.PID])
	}
}

// requireLeftover checks that one process was left behind, which sleeps forever.
func requireLeftover(t *testing.T, bash shared.Bash, r *shared.Result, child int) {
	t.Helper()
	require.True(t, slices.ContainsFunc(r.Leftover, func(p shared.Process) bool { return p.PID == child }))
	plugintest.Eventually(t, "the subshells to end and the fork to become sleep", func() bool {
		left := plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID}).Leftover
		return len(left) == 1 && left[0] == shared.Process{PID: child, Command: plugintest.Forever}
	})
}

// Meaning 5: a command with children in the background returns as soon as bash
// has ended, with everything bash wrote; the children live on.
func TestMeaning5ChildrenInTheBackground(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("Execute does not wait for them", func(t *testing.T) {
		r := plugintest.Run(t, bash, plugintest.Forever+" & echo $!")
		child := plugintest.Number(t, r.Stdout.Content)
		assert.Equal(t, shared.StatusCompleted, r.Status)
		requireLeftover(t, bash, r, child)
		assert.True(t, plugintest.Alive(child))
		r = plugintest.Kill(t, bash, r.PID)
		assert.Empty(t, r.Leftover)
		assert.False(t, plugintest.Alive(child))
	})
	t.Run("all that bash wrote is there", func(t *testing.T) {
		for range 20 {
			r := plugintest.Run(t, bash, plugintest.Forever+" & seq 10000")
			require.EqualValues(t, 10000, r.Stdout.TotalLines)
			plugintest.Kill(t, bash, r.PID)
		}
	})
	t.Run("their output goes on being collected", func(t *testing.T) {
		g := plugintest.NewGate(t)
		r := plugintest.Run(t, bash, "{ "+g.Wait()+"; echo late; echo later >&2; } & echo early")
		assert.Equal(t, "early\n", r.Stdout.Content)
		require.Len(t, r.Leftover, 1)
		g.Open(t)
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
		assert.Empty(t, r.Leftover)
		assert.Equal(t, "late\n", r.Stdout.Content, "a child that writes is not killed by SIGPIPE")
		assert.Equal(t, "later\n", r.Stderr.Content)
		assert.Equal(t, shared.StatusCompleted, r.Status)
		assert.Equal(t, "early\nlate\n", plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("those of a login end at Close", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("others than root are asked for a password")
		}
		if text, err := exec.Command("su", "-", "-c", "true").CombinedOutput(); err != nil {
			t.Skipf("su - does not work here: %v %s", err, text)
		}
		bash := plugintest.Launch(t)
		r := plugintest.Run(t, bash, "su - -c 'setsid "+plugintest.Forever+" >/dev/null 2>&1 & echo $!'")
		require.NoError(t, bash.Close())
		plugintest.AwaitDeath(t, plugintest.Number(t, r.Stdout.Content))
	})
	t.Run("Check waits for the last of them", func(t *testing.T) {
		g := plugintest.NewGate(t)
		r := plugintest.Run(t, bash, g.Wait()+" & exit 3")
		assert.Equal(t, 3, r.ExitCode)
		waiting := plugintest.Start(func() (*shared.Result, error) {
			return bash.Check(t.Context(), shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
		})
		g.Open(t)
		done := plugintest.Await(t, waiting)
		require.NoError(t, done.Err)
		assert.Empty(t, done.Result.Leftover)
		assert.Equal(t, 3, done.Result.ExitCode)
	})
	const told = "; cat $told" // until the child has opened it, written its pid and closed it
	for name, command := range map[string]string{
		"nohup":               "nohup " + plugintest.Forever + " >/dev/null 2>&1 & echo $!",
		"disown":              plugintest.Forever + " & disown; echo $!",
		"own process group":   "set -m; " + plugintest.Forever + " & echo $!",
		"setsid":              "setsid bash -c 'echo $$ >$told; exec " + plugintest.Forever + "' &" + told[1:],
		"double fork":         "( ( " + plugintest.Forever + " & echo $! >$told ) & )" + told,
		"setsid, double fork": "setsid bash -c '( " + plugintest.Forever + " & echo $! >$told ) & ' &" + told[1:],
		"redirected":          "setsid bash -c 'echo $$ >$told; exec " + plugintest.Forever + "' </dev/null >/dev/null 2>&1 &" + told[1:],
		"empty environment":   "setsid bash -c 'echo $$ >$told; exec env -i " + plugintest.Forever + "' </dev/null >/dev/null 2>&1 &" + told[1:],
	} {
		t.Run("Leftover and Kill reach "+name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "told")
			require.NoError(t, syscall.Mkfifo(fifo, 0o600))
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Env: []string{"told=" + fifo}})
			child := plugintest.Number(t, r.Stdout.Content)
			requireLeftover(t, bash, r, child)
			assert.True(t, plugintest.Alive(child))
			plugintest.Kill(t, bash, r.PID)
			assert.False(t, plugintest.Alive(child))
		})
	}
	t.Run("a zombie is not left over", func(t *testing.T) {
		r := plugintest.Run(t, bash, "sleep 0 & echo $!; exec sleep 0.2") // nobody reaps the first one
		assert.Empty(t, r.Leftover)
	})
}

func TestTooManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	request := shared.ExecuteRequest{Command: "exec " + plugintest.Forever, Mode: shared.ModeBackground}
	for range 256 {
		plugintest.Execute(t, bash, request)
	}
	_, err := bash.Execute(t.Context(), request)
	e := plugintest.RequireCode(t, err, shared.ErrStart)
	assert.Contains(t, e.Message, "256")
	assert.Contains(t, e.Message, "kill a job")
	killed, err := bash.Kill(t.Context(), shared.KillRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	assert.Len(t, killed.Jobs, 256)
	assert.Equal(t, "again\n", plugintest.Run(t, bash, "echo again").Stdout.Content)
}
