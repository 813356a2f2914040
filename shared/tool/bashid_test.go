//go:build unix

package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// The cases of the test plan that the bash_id dialect comes from, by number.

func TestCase01_ExecuteSimpleForegroundCommand(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.runs(`echo "hello"`)
	assert.False(t, answer.IsError)
	assert.Equal(t, "stdout:\nhello\n\nexit code: 0", answer.Text)
}

func TestCase02_ExecuteForegroundCommandWithTimeout(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.run(args{"command": "sleep 1", "timeout": 5000})
	assert.False(t, answer.IsError)
	assert.Equal(t, "exit code: 0", answer.Text)
	assert.GreaterOrEqual(t, answer.Result.Duration, time.Second)
	assert.Less(t, answer.Result.Duration, 5*time.Second)
}

func TestCase03_ExecuteBackgroundCommand(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.run(args{"command": "sleep 5", "run_in_background": true})
	assert.False(t, answer.IsError)
	assert.Less(t, answer.Result.Duration, 4*time.Second)
	assert.True(t, plugintest.Alive(answer.Result.PID))
	assert.Regexp(t, `^bash_1[a-z0-9]{3}$`, answer.ID)
	assert.Equal(t, "bash_id: "+answer.ID+"\nstatus: running\n\nUse bash_output with this bash_id to read its output, kill_bash to terminate it.", answer.Text)
}

func TestCase04_DefaultTimeoutIs30Seconds(t *testing.T) {
	t.Parallel()
	bash := new(fake)
	newTools(t, tool.BashID, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":"sleep 1"}`)})
	assert.Equal(t, []any{shared.ExecuteRequest{Command: "sleep 1", Mode: shared.ModeTerminate, Timeout: 30 * time.Second, Limits: shared.Limits{Notable: 10}}}, bash.requests)

	answer := newAgent(t, tool.BashID).runs("sleep 1")
	assert.False(t, answer.IsError)
	assert.Equal(t, "exit code: 0", answer.Text)
}

func TestCase05_ReadOutputFromRunningBackgroundProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start("echo so far; " + plugintest.Forever)
	text := a.collect("bash_output", args{"bash_id": started.ID}, started.Text, "so far")
	assert.Contains(t, text, "status: running")
	assert.True(t, plugintest.Alive(started.Result.PID))
}

func TestCase06_ReadOutputFromCompletedProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	open := a.door("end")
	started := a.start("read < end; echo final")
	open()
	a.awaitEnd(started.Result.PID)
	answer := a.output(started.ID)
	assert.False(t, answer.IsError)
	assert.Equal(t, "bash_id: "+started.ID+"\nstatus: completed\nexit code: 0\n\nstdout:\nfinal", answer.Text)
}

func TestCase07_ReadOutputMultipleTimesIncremental(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	open := a.door("more")
	started := a.start("echo first; read < more; echo second; " + plugintest.Forever)
	text := a.collect("bash_output", args{"bash_id": started.ID}, started.Text, "first")
	assert.Equal(t, "bash_id: "+started.ID+"\nstatus: running\n\n(no new output)", a.output(started.ID).Text)
	open()
	text += a.collect("bash_output", args{"bash_id": started.ID}, "", "second")
	assert.Equal(t, 1, strings.Count(text, "first"))
	assert.Equal(t, 1, strings.Count(text, "second"))
}

func TestCase08_KillRunningBackgroundProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start("sleep 100")
	answer := a.kill(started.ID)
	assert.False(t, answer.IsError)
	assert.Equal(t, "Process "+started.ID+" terminated.\nbash_id: "+started.ID+"\nstatus: killed\nexit code: 143 (SIGTERM)", answer.Text)
	assert.False(t, plugintest.Alive(started.Result.PID))
}

func TestCase09_KillAlreadyCompletedProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start("true")
	a.awaitEnd(started.Result.PID)
	for range 2 {
		answer := a.kill(started.ID)
		assert.False(t, answer.IsError)
		assert.Equal(t, "Process "+started.ID+" had already ended.\nbash_id: "+started.ID+"\nstatus: completed\nexit code: 0", answer.Text)
	}
}

func TestCase10_ForegroundCommandTimesOut(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.run(args{"command": "echo begun; sleep 30", "timeout": 3000})
	assert.True(t, answer.IsError)
	assert.Equal(t, "[Command timed out after 3s and was killed.]\n\nstdout:\nbegun\n\nexit code: 143 (SIGTERM)\n[To run it longer, give a longer timeout or run_in_background=true.]", answer.Text)
	assert.Less(t, answer.Result.Duration, 20*time.Second)
	assert.False(t, plugintest.Alive(answer.Result.PID))
}

func TestCase11_BackgroundCommandOutputExceedsBuffer(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start("seq 1 200000")
	a.awaitEnd(started.Result.PID)
	text := a.output(started.ID).Text
	assert.Contains(t, text, "[stdout: Showing last 2000 of 200000 lines. Full output: ")
	assert.True(t, strings.HasSuffix(text, "\n200000"), "the end comes last")

	// Nothing is lost.
	path := regexp.MustCompile(`Full output: (.+)\]`).FindStringSubmatch(text)[1]
	full, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 200000, strings.Count(string(full), "\n"))
	assert.True(t, strings.HasPrefix(string(full), "1\n2\n3\n"))
}

func TestCase12_InvalidBashIDInBashOutput(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.output("nonexistent")
	assert.True(t, answer.IsError)
	assert.ErrorIs(t, answer.Err, shared.ErrNotFound)
	assert.Equal(t, `BASH_NOT_FOUND: there is no background process with the bash_id "nonexistent". There are none.`, answer.Text)
}

func TestCase13_InvalidBashIDInKillBash(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start(plugintest.Forever)
	answer := a.kill("nonexistent")
	assert.True(t, answer.IsError)
	assert.ErrorIs(t, answer.Err, shared.ErrNotFound)
	assert.Equal(t, `BASH_NOT_FOUND: there is no background process with the bash_id "nonexistent". There are `+started.ID+".", answer.Text)
	assert.True(t, plugintest.Alive(started.Result.PID))
}

func TestCase14_CommandFailsWithNonZeroExitCode(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.runs("ls /nonexistent")
	assert.False(t, answer.IsError)
	assert.Regexp(t, `^stderr:\nls: .*/nonexistent.*\n\nexit code: [12]$`, answer.Text)
}

func TestCase15_CommandWithSyntaxError(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.runs("invalid|||syntax")
	assert.False(t, answer.IsError)
	assert.Contains(t, answer.Result.Stderr.Content, "syntax error")
	assert.Contains(t, answer.Text, "\nexit code: 2")
}

func TestCase16_EmptyCommand(t *testing.T) {
	t.Parallel()
	bash := new(fake)
	answer := newTools(t, tool.BashID, bash).Call(t.Context(), tool.Call{Name: "bash", Arguments: []byte(`{"command":""}`)})
	assert.True(t, answer.IsError)
	assert.Contains(t, answer.Text, "command is empty")
	assert.Empty(t, bash.requests)
}

func TestCase17_AutoKillBackgroundProcessesOnCleanup(t *testing.T) {
	t.Parallel()
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, LogDir: t.TempDir()})
	require.NoError(t, err)
	defer bash.Close()
	a := newAgentOver(t, tool.BashID, bash)
	started := []tool.Answer{a.start(plugintest.Forever), a.start("trap '' TERM; " + plugintest.Forever), a.start("setsid " + plugintest.Forever)}
	require.NoError(t, a.Close())
	require.NoError(t, bash.Close())
	for _, s := range started {
		assert.False(t, plugintest.Alive(s.Result.PID))
	}
}

func TestCase18_MultipleBackgroundProcesses(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	ids := make(map[string]bool)
	for i := range 3 {
		started := a.start(fmt.Sprintf("echo output of %d; %s", i, plugintest.Forever))
		ids[started.ID] = true
		text := a.collect("bash_output", args{"bash_id": started.ID}, started.Text, fmt.Sprintf("output of %d\n", i))
		assert.Equal(t, 1, strings.Count(text, "output of"))
	}
	assert.Len(t, ids, 3)
}

func TestCase19_ProcessFinishesBeforeBashOutputCalled(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start("echo fast")
	a.awaitEnd(started.Result.PID)
	answer := a.output(started.ID)
	assert.Contains(t, answer.Text, "status: completed\nexit code: 0\n")
	assert.Contains(t, started.Text+answer.Text, "stdout:\nfast")
}

func TestCase20_ForegroundAndBackgroundCommandsCoexist(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	open := a.door("meet")
	started := a.start("read < meet; echo background")
	assert.Equal(t, "stdout:\nforeground\n\nexit code: 0", a.runs("echo foreground").Text)
	assert.Contains(t, a.output(started.ID).Text, "status: running")
	open()
	a.awaitEnd(started.Result.PID)
	assert.Contains(t, a.output(started.ID).Text, "stdout:\nbackground")
}

func TestCase21_BashOutputPollingPattern(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	started := a.start("for i in 1 2 3 4 5; do echo tick $i; sleep 0.2; done")
	text := started.Text
	running := 0
	for deadline := time.Now().Add(plugintest.Hang); !strings.Contains(text, "status: completed") && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		answer := a.output(started.ID)
		if answer.Result.Status == shared.StatusRunning {
			running++
		}
		text += answer.Text
	}
	assert.Positive(t, running)
	assert.Contains(t, text, "status: completed\nexit code: 0")
	for i := range 5 {
		assert.Equal(t, 1, strings.Count(text, fmt.Sprintf("tick %d", i+1)))
	}
}

func TestE2E1_LongRunningBackgroundProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	t.Run("wait for completion", func(t *testing.T) {
		t.Parallel()
		started := a.start("sleep 1 && echo done")
		assert.Contains(t, a.output(started.ID).Text, "status: running")
		text := a.collect("bash_output", args{"bash_id": started.ID}, "", "status: completed")
		assert.Equal(t, 1, strings.Count(text, "stdout:\ndone"))
	})
	t.Run("kill early", func(t *testing.T) {
		t.Parallel()
		started := a.start("sleep 10 && echo done")
		assert.Contains(t, a.output(started.ID).Text, "status: running")
		assert.Contains(t, a.kill(started.ID).Text, "terminated")
		answer := a.output(started.ID)
		assert.False(t, answer.IsError)
		assert.Equal(t, "bash_id: "+started.ID+"\nstatus: killed\nexit code: 143 (SIGTERM)\n\n(no new output)", answer.Text)
	})
}

func TestE2E2_ForegroundCommandWithTimeout(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	script := "#!/bin/sh\necho \"> $*\"; echo passed\n"
	require.NoError(t, os.WriteFile(filepath.Join(a.dir, "npm"), []byte(script), 0o700))
	answer := a.run(args{"command": "PATH=.:$PATH npm test", "timeout": 60000})
	assert.False(t, answer.IsError)
	assert.Equal(t, "stdout:\n> test\npassed\n\nexit code: 0", answer.Text)
}

// What the dialect promises besides.

func TestBashIDKillShowsWhatWasNotRead(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	open := a.door("ready")
	started := a.start("trap 'echo goodbye; exit 3' TERM; echo begun; echo oops >&2; read < ready; " + plugintest.Forever + " & wait")
	text := a.collect("bash_output", args{"bash_id": started.ID}, started.Text, "begun", "oops")
	open()
	answer := a.kill(started.ID)
	text += answer.Text
	assert.Contains(t, answer.Text, "status: killed\nexit code: 3\n\nstdout:\ngoodbye")
	assert.Equal(t, 1, strings.Count(text, "\nbegun"))
	assert.Equal(t, 1, strings.Count(text, "\noops"))

	again := a.kill(started.ID) // a second kill is no error
	assert.False(t, again.IsError)
	assert.NotContains(t, again.Text, "goodbye")
}

func TestBashIDReachesWhatACommandLeftRunning(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.runs(leaves)
	child := answer.Result.Leftover[0]
	assert.Equal(t, fmt.Sprintf("stdout:\nstarted\n\nexit code: 0\n[Still running in the background: %d (%s). Use bash_output or kill_bash with bash_id %s.]", child.PID, child.Command, answer.ID), answer.Text)
	assert.Regexp(t, fmt.Sprintf(`^bash_id: %s\nstatus: completed\nexit code: 0\nstill running: %d \(.+\)\n\n\(no new output\)$`, answer.ID, child.PID), a.output(answer.ID).Text)
	assert.Contains(t, a.kill(answer.ID).Text, "terminated")
	plugintest.AwaitDeath(t, child.PID)
}

// A process that is ended may rewrite the line that it was writing: that line is
// shown again as a whole.
func TestBashIDKillShowsTheLastWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last, want string
		read       bool // the line was read before
	}{
		"rewritten":            {`\r\e[Kcheckpoint saved\n`, "stdout:\nready\ncheckpoint saved", false},
		"rewritten after read": {`\r\e[Kcheckpoint saved\n`, "stdout:\ncheckpoint saved", true},
		"grown":                {`\rstep 99%% aborted`, "stdout:\nready\nstep 99% aborted", false},
		"grown after read":     {`\rstep 99%% aborted`, "stdout:\nstep 99% aborted", true},
		"appended after read":  {` aborted`, "stdout:\nstep 50% aborted", true},
		"silent":               {``, "stdout:\nready\nstep 50%", false},
		"shorter after read":   {`\r\e[Kbye\n`, "stdout:\nbye", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, tool.BashID)
			begin, written := a.door("begin"), a.door("written")
			started := a.start(`exec 2>/dev/null; trap 'printf "` + c.last + `"; exit 1' TERM; read <begin; printf 'ready\nstep 50%%'; read <written; while :; do sleep 0.01; done`)
			begin() // what it writes is not in the answer for the start
			written()
			if c.read {
				a.collect("bash_output", args{"bash_id": started.ID}, "", "\nready", "\nstep 50%")
			}
			text := a.kill(started.ID).Text
			_, shown, _ := strings.Cut(text, "exit code: 1\n\n")
			assert.Equal(t, c.want, shown, text)
			assert.Contains(t, a.output(started.ID).Text, "(no new output)")
		})
	}
}

func TestBashIDBackgroundTimeout(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.BashID)
	answer := a.run(args{"command": plugintest.Forever, "run_in_background": true, "timeout": 100})
	a.awaitEnd(answer.Result.PID)
	assert.Regexp(t, `status: killed\nexit code: 143 \(SIGTERM\)\nCommand timed out and was killed\.`, a.output(answer.ID).Text)
}

// start runs a command in the background.
func (a *agent) start(command string) tool.Answer {
	a.t.Helper()
	answer := a.run(args{"command": command, "run_in_background": true})
	require.False(a.t, answer.IsError, answer.Text)
	require.NotEmpty(a.t, answer.ID)
	return answer
}

func (a *agent) output(id string) tool.Answer {
	a.t.Helper()
	return a.use("bash_output", args{"bash_id": id})
}

func (a *agent) kill(id string) tool.Answer {
	a.t.Helper()
	return a.use("kill_bash", args{"bash_id": id})
}
