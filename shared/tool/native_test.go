//go:build unix

package tool_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// serverEnv makes this test's binary a web server, as a developer starts one: it takes
// its time, and then says where it listens.
const serverEnv = "TOOL_TEST_SERVER"

func serveHello() {
	fmt.Println("compiling …")
	time.Sleep(200 * time.Millisecond)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("ready: http://%s/\n", listener.Addr())
	panic(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from the server") })))
}

// A model that reads nothing but the answers starts a server, waits for it, tests it and
// ends it in four calls.
func TestNativeDevServerTakesFourCalls(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	self, err := os.Executable()
	require.NoError(t, err)

	started := a.run(args{"command": serverEnv + "=1 exec " + self, "background": true})
	id := oneOf(t, `job (\w+) is running`, started.Text)
	assert.Contains(t, started.Text, "bash_job waits for it and shows new output, bash_kill ends it")

	waited := a.use("bash_job", args{"id": id, "wait_for": "^ready", "wait": 60})
	address := oneOf(t, `ready: http://([\d.]+:\d+)/`, waited.Text)
	assert.Contains(t, waited.Text, "compiling …\n")
	assert.NotContains(t, waited.Text, "not matched")

	host, port, _ := strings.Cut(address, ":")
	tested := a.runs(fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s; printf 'GET / HTTP/1.0\r\n\r\n' >&3; tail -n 1 <&3`, host, port))
	assert.Equal(t, "hello from the server\n[ended with exit code 0]", tested.Text)

	killed := a.use("bash_kill", args{"id": id})
	assert.False(t, killed.IsError)
	assert.Equal(t, "[job "+id+" terminated; no new output]", killed.Text)
	assert.False(t, plugintest.Alive(started.Result.PID))
}

// oneOf returns what a pattern's group matches in an answer, like a model.
func oneOf(t *testing.T, pattern, text string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, match, "no %s in %q", pattern, text)
	return match[1]
}

func TestNativeRun(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	require.NoError(t, os.Mkdir(a.dir+"/sub", 0o700))
	for _, test := range []struct {
		arguments args
		want      string
	}{
		{args{"command": "echo out; echo err >&2; echo out"}, "out\nerr\nout\n[ended with exit code 0]"},
		{args{"command": "printf x; exit 3"}, "x\n[ended with exit code 3]"},
		{args{"command": "true"}, "[ended with exit code 0; no output]"},
		{args{"command": "kill -9 $$"}, "[ended with exit code 137 (SIGKILL); no output]"},
		{args{"command": "pwd", "dir": "sub"}, a.dir + "/sub\n[ended with exit code 0]"},
		{args{"command": "pwd", "dir": "/"}, "/\n[ended with exit code 0]"},
		{args{"command": "head -c 5000000 /dev/zero"}, "[5000000 bytes that are not text]\n[ended with exit code 0]"},
	} {
		answer := a.run(test.arguments)
		assert.False(t, answer.IsError, answer.Text)
		assert.Equal(t, test.want, answer.Text)
	}
	answer := a.run(args{"command": "ls", "dir": "/nowhere"})
	assert.True(t, answer.IsError)
	assert.Equal(t, `INVALID_REQUEST: dir "/nowhere" cannot be used: it does not exist`, answer.Text)
}

func TestNativeACommandThatTakesLongBecomesAJob(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	open := a.door("more")
	answer := a.run(args{"command": "echo first; read < more; echo second", "timeout": 1})
	assert.False(t, answer.IsError)
	assert.Regexp(t, `^first\n\[job `+answer.ID+` is running, for 1s: bash_job waits`, answer.Text)
	assert.Contains(t, a.use("bash_jobs", args{}).Text, answer.ID+" is running, for ")

	open()
	answer = a.use("bash_job", args{"id": answer.ID, "wait": 60})
	assert.Equal(t, "second\n[job "+answer.ID+" ended with exit code 0]", answer.Text)
	assert.Equal(t, "[job "+answer.ID+" ended with exit code 0; no new output]", a.use("bash_job", args{"id": answer.ID}).Text)
	again := a.use("bash_job", args{"id": answer.ID, "all": "true", "wait_for": "fir"})
	assert.Equal(t, "first\nsecond\n[job "+answer.ID+" ended with exit code 0]", again.Text)
	assert.Equal(t, "[job "+answer.ID+" had already ended; no new output]", a.use("bash_kill", args{"id": answer.ID}).Text)

	answer = a.use("bash_job", args{"id": "lost"})
	assert.ErrorIs(t, answer.Err, shared.ErrNotFound)
	assert.Contains(t, answer.Text, `there is no job "lost". There are job_`)
}

func TestNativeWaitForThatDoesNotMatch(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	id := a.run(args{"command": "printf par; " + plugintest.Forever, "background": true}).ID
	text := a.use("bash_job", args{"id": id, "wait_for": "par", "wait": 60}).Text
	assert.Contains(t, text, "par\n[the line above is not finished]\n[job "+id+" is running")
	assert.Contains(t, a.use("bash_job", args{"id": id, "wait_for": "tial", "wait": 1}).Text, "; the output has not matched wait_for")
}

func TestNativeKillSaysWhatItEnded(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	answer := a.runs(leaves)
	child := answer.Result.Leftover[0]
	assert.Regexp(t, fmt.Sprintf(`^started\n\[job %s ended with exit code 0, but left running %d \(.+\): bash_job`, answer.ID, child.PID), answer.Text)
	text := a.use("bash_kill", args{"id": answer.ID}).Text
	assert.Contains(t, text, fmt.Sprintf("[job %s terminated. It also ended %d (%s)", answer.ID, child.PID, child.Command))
	plugintest.AwaitDeath(t, child.PID)
}

func TestMalformedNativeCalls(t *testing.T) {
	t.Parallel()
	refused(t, tool.Native, "bash", []refusal{
		{"milliseconds", `{"command":"ls","timeout":120000}`, "timeout, in seconds, is out of range: give a number from 0 to 3600"},
		{"another dialect's", `{"command":"ls","run_in_background":true}`, `there is no argument "run_in_background": did you mean background?`},
		{"another dialect's timeout", `{"command":"ls","timeout_ms":5}`, `there is no argument "timeout_ms": did you mean timeout?`},
	})
	refused(t, tool.Native, "bash_job", []refusal{
		{"no id", `{"wait":5}`, "id is missing"},
		{"negative", `{"id":"x","wait":-1}`, "wait, in seconds, is out of range: give a number from 0 to 3600"},
		{"no pattern", `{"id":"x","wait_for":"("}`, "wait_for is no regular expression of at most 1000 bytes, in Go's syntax: error parsing regexp: missing closing ): `(`"},
		{"long pattern", `{"id":"x","wait_for":"` + strings.Repeat("x", 1001) + `"}`, "wait_for is no regular expression of at most 1000 bytes, in Go's syntax: it is longer"},
	})
}

// An answer that shows a screen names the log, and says how many lines are only there. With
// all it is the text of a pipe.
func TestNativeNamesTheLogOfATerminal(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, test := range []struct{ command, screen, hidden, text string }{
		{"seq 100", lines(62, 100), "output: 61 lines not on the screen. ", lines(1, 100)},
		{"seq 40; echo; echo", lines(4, 40), "output: 3 lines not on the screen. ", lines(1, 40) + "\n\n"},
		{"seq 6000; printf 'more? '", lines(5962, 6000) + "more?\n", "output: 5961 lines not on the screen. ", ""},
		{"seq 38", lines(1, 38), "", lines(1, 38)},
		{"seq 100; printf '%0130d\\n' 0", lines(64, 100) + strings.Repeat("0", 120) + "\n0000000000\n", "", lines(1, 100) + strings.Repeat("0", 130) + "\n"},
		{`seq 100; printf '\033[2J\033[Hdrawn'`, "drawn\n", "output: 100 lines not on the screen. ", ""},
		{`seq 100; printf '\033[2J\033[3;5Hdrawn'`, "\n\n    drawn\n", "", ""},
	} {
		started := a.run(args{"command": test.command + "; exec " + plugintest.Forever, "tty": true, "background": true})
		a.awaitScreen(started.Result.PID, test.screen)
		id := started.ID
		answer := a.use("bash_job", args{"id": id})
		log := answer.Result.Stdout.Path
		require.FileExists(t, log)
		state := fmt.Sprintf("[job %s %s", id, "is running, for 0s")
		want := test.screen + state + "; above is its screen]\n[" + test.hidden + "Full output: " + log + "]"
		assert.Equal(t, want, inNoTime(answer.Text), test.command)
		if test.text != "" {
			assert.Equal(t, test.text+state+"]", inNoTime(a.use("bash_job", args{"id": id, "all": true}).Text), test.command)
		}
		assert.False(t, a.use("bash_kill", args{"id": id}).IsError)
	}
}

// awaitScreen waits until a job's terminal shows a text.
func (a *agent) awaitScreen(pid int, text string) {
	a.t.Helper()
	plugintest.Eventually(a.t, "the text on the screen", func() bool {
		r, err := a.bash.Check(a.t.Context(), shared.CheckRequest{PID: pid, Peek: true})
		require.NoError(a.t, err)
		return r.Screen+"\n" == text
	})
}

// inNoTime is an answer that came at once.
func inNoTime(text string) string {
	return regexp.MustCompile(`is running, for \d+s`).ReplaceAllString(text, "is running, for 0s")
}

// Without wait an answer to input has what a program says to it, and not only its echo.
func TestNativeInputWaitsUntilTheOutputPauses(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	started := a.run(args{"command": "read -p 'name? ' x; sleep 0.15; read -p \"age of $x? \" y; " + plugintest.Forever, "tty": true, "timeout": 1})
	answer := a.use("bash_input", args{"id": started.ID, "input": "eve\r"})
	assert.Contains(t, answer.Text, "age of eve?")
	answer = a.use("bash_input", args{"id": started.ID, "input": "\u0003"})
	assert.Contains(t, answer.Text, "exit code 130")
}

// A client that cancels a call in a person's words may do so because of its timeout: the command
// is killed, and its model learns what became of it.
func TestNativeListsWhatACancelKilled(t *testing.T) {
	t.Parallel()
	a := newAgent(t, tool.Native)
	ctx, cancel := context.WithCancel(t.Context())
	live := writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	raw := []byte(`{"command":"echo begun; ` + plugintest.Forever + `"}`)
	a.Call(ctx, tool.Call{Name: "bash", Arguments: raw, Live: live})
	list := a.use("bash_jobs", nil).Text
	id := oneOf(t, `(job_\w+) cancelled and killed: echo begun`, list)
	assert.Equal(t, "begun\n[job "+id+" cancelled and killed]", a.use("bash_job", args{"id": id}).Text)
	assert.Contains(t, a.use("bash_job", args{"id": id}).Text, "not shown again")
	assert.Equal(t, list, a.use("bash_jobs", nil).Text)
	assert.Contains(t, a.use("bash_kill", args{"id": id}).Text, "had already ended")
}
