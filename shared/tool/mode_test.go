//go:build unix

package tool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/quick"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// The cases of the tool that the mode dialect stands in for.

func TestModeUnitOutputTruncationAtVariousSizes(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	const limit, end = 128 << 10, 4 << 10
	for _, size := range []int{1, end, 2*end + 1, limit - 1, limit, limit + 1, 2 * limit, 10 * limit} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			// The bytes count through the lower-case letters.
			output := strings.Repeat("abcdefghijklmnopqrstuvwxyz", size/26+1)[:size]
			require.NoError(t, os.WriteFile(a.dir+"/output", []byte(output), 0o600))
			answer := a.runs("cat output")
			assert.False(t, answer.IsError)
			assert.LessOrEqual(t, len(answer.Text), limit+200)
			if size <= limit {
				assert.Equal(t, output, answer.Text)
				return
			}
			assert.True(t, strings.HasPrefix(answer.Text, "[output truncated in middle: got "), answer.Text[:100])
			numbers := fmt.Sprintf("got %d bytes, showing %d; all of it: %s]\n", size, 2*end, answer.Result.Stdout.Path)
			assert.Contains(t, answer.Text, numbers+output[:end]+fmt.Sprintf("…\n[snip: %d bytes, 0 lines]\n…", size-2*end)+output[size-end:])
		})
	}
}

func TestModeUnitTimeoutBehavior(t *testing.T) {
	t.Parallel()
	for mode, test := range map[string]struct {
		timeout time.Duration
		text    string
	}{
		"default": {30 * time.Second, "[command timed out after 30s]\nthe beginning\n"},
		"slow":    {15 * time.Minute, "[command timed out after 900s]\nthe beginning\n"},
	} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // time is a fake one
				tools := newTools(t, tool.Mode, &fake{execute: hangUntilTimeout})
				start := time.Now()
				answer := tools.Call(t.Context(), tool.Call{Name: "bash", Arguments: fmt.Appendf(nil, `{"command":"x","mode":%q}`, mode)})
				assert.Equal(t, test.timeout, time.Since(start))
				assert.True(t, answer.IsError)
				assert.Equal(t, test.text, answer.Text)
			})
		})
	}
}

// hangUntilTimeout is a command that begins and never ends.
func hangUntilTimeout(_ context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	time.Sleep(req.Timeout)
	return &shared.Result{PID: 1, Status: shared.StatusKilled, Cause: shared.CauseTimeout, Stdout: shared.Output{Content: "the beginning\n"}}, nil
}

func TestModeUnitParsingAndValidation(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]shared.ExecuteRequest{
		`{"command":"ls"}`:                     {Mode: shared.ModeTerminate, Timeout: 30 * time.Second},
		`{"command":"ls","mode":null}`:         {Mode: shared.ModeTerminate, Timeout: 30 * time.Second},
		`{"command":"ls","mode":""}`:           {Mode: shared.ModeTerminate, Timeout: 30 * time.Second},
		`{"command":"ls","mode":"default"}`:    {Mode: shared.ModeTerminate, Timeout: 30 * time.Second},
		`{"command":"ls","mode":"slow"}`:       {Mode: shared.ModeTerminate, Timeout: 15 * time.Minute},
		`{"command":"ls","mode":"background"}`: {Mode: shared.ModeBackground, Timeout: 24 * time.Hour},
	} {
		want.Command, want.Merge, want.Limits = "ls", true, shared.Limits{MaxLines: -1, MaxBytes: 128 << 10, Ends: 4 << 10, Notable: 10}
		bash := new(fake)
		newTools(t, tool.Mode, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(arguments)})
		assert.Equal(t, []any{want}, bash.requests, arguments)
	}
	for _, mode := range []string{`"fast"`, `"Slow"`, `1`, `["slow"]`} {
		bash := new(fake)
		answer := newTools(t, tool.Mode, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"ls","mode":` + mode + `}`)})
		assert.True(t, answer.IsError, mode)
		assert.Contains(t, answer.Text, `"mode"?: "default" | "slow" | "background"`)
		assert.Empty(t, bash.requests, mode)
	}
}

// The end of a command that has the pid of one that was killed is not its own.
func TestModeUnitEndingWhereThePidIsALaterCommands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	begun := shared.Result{PID: 7, Status: shared.StatusRunning, Started: time.Now(), Stdout: shared.Output{Path: file}}
	later := shared.Result{PID: 7, Status: shared.StatusCompleted, Started: begun.Started.Add(time.Hour)}
	bash := &fake{
		execute: func(context.Context, shared.ExecuteRequest) (*shared.Result, error) { return &begun, nil },
		check:   func(context.Context, shared.CheckRequest) (*shared.Result, error) { return &later, nil },
	}
	newTools(t, tool.Mode, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"ls","mode":"background"}`)})
	var text []byte
	plugintest.Eventually(t, "text in "+file, func() bool {
		text, _ = os.ReadFile(file)
		return len(text) > 0
	})
	assert.Contains(t, string(text), "[background process killed]")
}

func TestModeIntegrationForegroundCommandExecution(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	for _, mode := range []string{"default", "slow"} {
		t.Run(mode, func(t *testing.T) {
			answer := a.run(args{"command": "echo out; echo err >&2; pwd; echo end", "mode": mode})
			assert.False(t, answer.IsError)
			assert.Equal(t, "out\nerr\n"+a.dir+"\nend\n", answer.Text)
		})
	}
	t.Run("without output", func(t *testing.T) {
		assert.Equal(t, "[no output]", a.runs("true").Text)
	})
	t.Run("keeps no state", func(t *testing.T) {
		a.runs("cd / && X=1")
		assert.Equal(t, a.dir+" \n", a.runs(`echo "$PWD $X"`).Text)
	})
}

func TestModeIntegrationBackgroundProcessLifecycle(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	open := a.door("more")
	answer := a.run(args{"command": "echo begun; read < more; echo end >&2 # a comment", "mode": "background"})
	assert.False(t, answer.IsError)
	pid, file := background(t, answer)
	assert.Equal(t, answer.Result.PID, pid)
	assert.True(t, plugintest.Alive(pid))

	open()
	a.awaitEnd(pid)
	awaitText(t, file, "begun\nend\n\n\n[background process completed]\n")
}

func TestModeBackgroundEndings(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	t.Run("failed", func(t *testing.T) {
		_, file := background(t, a.run(args{"command": "echo oops; exit 3", "mode": "background"}))
		awaitText(t, file, "oops\n\n\n[background process failed: exit status: 3]\n")
	})
	t.Run("stopped as the reminder says", func(t *testing.T) {
		answer := a.run(args{"command": plugintest.Forever, "mode": "background"})
		pid, file := background(t, answer)
		assert.Equal(t, "[no output]", a.runs(fmt.Sprintf("kill -9 -%d", pid)).Text)
		awaitText(t, file, "\n\n[background process failed: signal: 9 (SIGKILL)]\n")
		assert.False(t, plugintest.Alive(pid))
	})
	t.Run("killed by the host", func(t *testing.T) {
		pid, file := background(t, a.run(args{"command": "echo begun; " + plugintest.Forever, "mode": "background"}))
		awaitText(t, file, "begun\n")
		_, err := a.bash.Kill(t.Context(), shared.KillRequest{PID: pid})
		require.NoError(t, err)
		awaitText(t, file, "begun\n\n\n[background process killed]\n")
	})
	t.Run("after what it left running", func(t *testing.T) {
		open := a.door("child")
		_, file := background(t, a.run(args{"command": "(read < child; echo late) & echo soon", "mode": "background"}))
		awaitText(t, file, "soon\n")
		open()
		awaitText(t, file, "soon\nlate\n\n\n[background process completed]\n")
	})
}

func TestModeCloseLeavesCommandsAlone(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	pid, file := background(t, a.run(args{"command": "echo begun; " + plugintest.Forever, "mode": "background"}))
	awaitText(t, file, "begun\n")
	require.NoError(t, a.Close())
	assert.True(t, plugintest.Alive(pid))
	answer := a.run(args{"command": "echo one more", "mode": "background"})
	_, file = background(t, answer)
	awaitText(t, file, "one more\n")
}

func TestModeIntegrationExitCodeHandling(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	for command, want := range map[string]string{
		"exit 7":              "[command failed: exit code 7]",
		"echo x; exit 7":      "[command failed: exit code 7]\nx\n",
		"kill -9 $$":          "[command failed: exit code 137 (SIGKILL)]",
		"no-such-program-xyz": "[command failed: exit code 127]\nbash: line 1: no-such-program-xyz: command not found\n",
	} {
		answer := a.runs(command)
		assert.True(t, answer.IsError, command)
		assert.Equal(t, want, answer.Text, command)
	}
	assert.False(t, a.runs("true").IsError)
}

func TestModeForegroundReportsWhatItLeftRunning(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	answer := a.runs(leaves)
	child := answer.Result.Leftover[0].PID
	assert.False(t, answer.IsError)
	assert.Regexp(t, fmt.Sprintf(`^started\n\[still running, output in \S+; to stop: kill -9 %d\]$`, child), answer.Text)
	a.runs(fmt.Sprintf("kill -9 %d", child))
	plugintest.AwaitDeath(t, child)
}

func TestModeDescriptionNamesTheDirectory(t *testing.T) {
	t.Parallel()
	tools, err := tool.New(tool.Mode, nil, tool.Options{Dir: "/some/where"})
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(tools.Definitions()[0].Description, "\n\n<pwd>/some/where</pwd>"))
	assert.NotContains(t, define(t, tool.Mode)["bash"].Description, "<pwd>", "nobody knows it")
}

// The design's property: an answer is never longer than the limit and 200
// bytes. It is tested through the whole plugin, with output of every kind.
func TestModePropertyOutputNeverExceedsLimit(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Mode)
	property := func(unit []byte, repeat uint16, ending uint8) bool {
		output := append(slices.Clone(unit), '\n')
		output = []byte(strings.Repeat(string(output), 1+int(repeat)*10/len(output)))
		require.NoError(t, os.WriteFile(a.dir+"/output", output, 0o600))
		answer := a.runs(fmt.Sprintf("cat output; %s", []string{"true", "exit 255", "kill -TERM $$", "sleep 1000 & exit 3"}[ending%4]))
		for _, p := range answer.Result.Leftover {
			a.runs(fmt.Sprintf("kill -9 %d", p.PID))
		}
		return len(answer.Text) <= 128<<10+200
	}
	require.NoError(t, quick.Check(property, &quick.Config{MaxCount: 25}))
}

// FuzzModeAnswer is the same property on every account that a Bash may give.
func FuzzModeAnswer(f *testing.F) {
	f.Add("output", 6, "", uint8(0), 0, 0)
	f.Add("x", 128<<10, "/tmp/"+strings.Repeat("d", 300), uint8(3), -1, 100)
	f.Fuzz(func(t *testing.T, unit string, size int, path string, state uint8, code, left int) {
		size = max(0, size) % (128<<10 + 1) // no Bash shows more
		output := strings.Repeat(unit+"\n", size/(len(unit)+1)+1)[:size]
		r := states()[int(state)%len(states())]
		r.ExitCode, r.Stdout = code, shared.Output{Content: output, TotalBytes: int64(len(output)), Path: path}
		for i := range max(0, left) % 1000 {
			r.Leftover = append(r.Leftover, shared.Process{PID: 4194304 - i, Command: output})
		}
		answer := newTools(t, tool.Mode, always(&r)).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"x"}`)})
		assert.LessOrEqual(t, len(answer.Text), 128<<10+200)
		assert.NotEmpty(t, answer.Text)
	})
}

// background takes the answer for a background command apart.
func background(t *testing.T, answer tool.Answer) (pid int, file string) {
	t.Helper()
	match := regexp.MustCompile(`^<pid>(\d+)</pid>\n<output_file>(/.+)</output_file>\n<reminder>To stop: kill -9 -(\d+)</reminder>$`).FindStringSubmatch(answer.Text)
	require.NotNil(t, match, "%s", answer.Text)
	require.Equal(t, match[1], match[3])
	pid, err := strconv.Atoi(match[1])
	require.NoError(t, err)
	return pid, match[2]
}

// awaitText waits until a file holds text and nothing else.
func awaitText(t *testing.T, path, text string) {
	t.Helper()
	var held string
	defer func() { assert.Equal(t, text, held) }()
	plugintest.Eventually(t, "the text in "+path, func() bool {
		bytes, err := os.ReadFile(path)
		held = string(bytes)
		return err == nil && held == text
	})
}

// What the answers tell a model to run works confined, too.
func TestModeStopsConfinedCommands(t *testing.T) {
	t.Parallel()
	bash, err := host.Launch(t.Context(), host.LaunchConfig{
		Path:    plugintest.Path,
		LogDir:  t.TempDir(),
		Confine: &shared.Confine{ReadOnly: true, BestEffort: true},
	})
	require.NoError(t, err)
	defer bash.Close()
	if _, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"}); errors.Is(err, shared.ErrStart) {
		t.Skip(err)
	}
	a := newAgentOver(t, tool.Mode, bash)
	pid, file := background(t, a.run(args{"command": "(trap '' TERM; exec sleep 1000) & sleep 1000", "mode": "background"}))
	assert.Equal(t, "[no output]", a.runs(fmt.Sprintf("kill -9 -%d", pid)).Text)
	awaitText(t, file, "\n\n[background process failed: signal: 9 (SIGKILL)]\n")
	assert.False(t, plugintest.Alive(pid))

	left := a.runs("sleep 1001 & sleep 1002 & echo up").Result.Leftover
	require.Len(t, left, 2)
	assert.Equal(t, "[no output]", a.runs(fmt.Sprintf("kill -9 %d", left[0].PID)).Text)
	plugintest.AwaitDeath(t, left[0].PID)
	assert.True(t, plugintest.Alive(left[1].PID))

	// The bash of a background command has ended, and what it has left running is stopped.
	pid, _ = background(t, a.run(args{"command": "sleep 1001 & sleep 1002 &", "mode": "background"}))
	plugintest.AwaitDeath(t, pid)
	assert.Equal(t, "[no output]", a.runs(fmt.Sprintf("kill -9 -%d", pid)).Text)
	a.awaitEnd(pid)
}
