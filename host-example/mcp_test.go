//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// connect starts an MCP server and returns a client of it.
func connect(t *testing.T, opts *mcp.ClientOptions, args ...string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: program(t, "host-example", append([]string{"mcp"}, args...)...)}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	return session
}

// call calls the tool bash, which must work.
func call(t *testing.T, s *mcp.ClientSession, command string) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": command}})
	require.NoError(t, err)
	return r
}

func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	return r.Content[0].(*mcp.TextContent).Text
}

// structuredContent is that of an answer.
type structuredContent struct {
	shared.Result
	Text, ID string
	Error    struct {
		Code    shared.Code
		Message string
	}
}

// UnmarshalJSON implements json.Unmarshaler: else the Result's would have it all.
func (c *structuredContent) UnmarshalJSON(text []byte) error {
	type rest struct {
		Text  *string
		ID    *string
		Error any
	}
	if err := json.Unmarshal(text, &rest{&c.Text, &c.ID, &c.Error}); err != nil {
		return err
	}
	return json.Unmarshal(text, &c.Result)
}

// fields decodes structured content.
func fields(t *testing.T, r *mcp.CallToolResult) (out structuredContent) {
	t.Helper()
	text, err := json.Marshal(r.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

func TestMCPListsTheToolsOfEachDialect(t *testing.T) {
	t.Parallel()
	for _, dialect := range tool.Dialects() {
		listed, err := connect(t, nil, "-dialect", string(dialect)).ListTools(t.Context(), nil)
		require.NoError(t, err)
		tools, err := tool.New(dialect, nil, tool.Options{Dir: "/", MaxWait: 50 * time.Second})
		require.NoError(t, err)
		require.Len(t, listed.Tools, len(tools.Definitions()))
		for _, definition := range tools.Definitions() {
			i := slices.IndexFunc(listed.Tools, func(t *mcp.Tool) bool { return t.Name == definition.Name })
			require.GreaterOrEqual(t, i, 0)
			schema, err := json.Marshal(listed.Tools[i].InputSchema)
			require.NoError(t, err)
			assert.JSONEq(t, string(definition.InputSchema), string(schema))
			assert.Equal(t, definition.Hints.ReadOnly, listed.Tools[i].Annotations.ReadOnlyHint)
			assert.Equal(t, definition.Hints.Destructive, *listed.Tools[i].Annotations.DestructiveHint)
		}
	}
}

// A client that shows its model nothing but the structured content has there what
// reads a background command's output.
func TestMCPStructuredContentNamesTheLog(t *testing.T) {
	t.Parallel()
	s := connect(t, nil, "-dialect", "mode", "-structured")
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": endless, "mode": "background"}})
	require.NoError(t, err)
	got := fields(t, r)
	assert.FileExists(t, got.Stdout.Path)
	assert.Equal(t, textOf(t, r), got.Text)
}

// Every field of structured content is in the schema.
func TestMCPOutputSchema(t *testing.T) {
	t.Parallel()
	schema := outputSchema()
	schema.AdditionalProperties = &jsonschema.Schema{Not: new(jsonschema.Schema)}
	strict, err := schema.Resolve(nil)
	require.NoError(t, err)
	process := []shared.Process{{PID: 8, Command: "<a>"}}
	output := shared.Output{Content: "c", Head: "h", Truncated: true, TruncatedBy: "lines", TotalLines: 9, Path: "/p", PathError: "full"}
	for _, answer := range []tool.Answer{
		{Text: "text", Err: errors.New("other")},
		{Text: "text", ID: "job_1", Err: shared.ErrNotFound, Result: &shared.Result{PID: 7, Command: "c", Dir: "/d", Status: shared.StatusKilled, Cause: shared.CauseKill,
			Signal: "SIGTERM", Stdout: output, Stderr: output, Started: time.Now(), Duration: time.Hour, Leftover: process, Ended: process, Matched: true,
			Usage: shared.Usage{MaxMemory: 1, CPU: time.Second, MaxProcesses: 2}, Exceeded: "it did"}},
		{Text: "text", Result: &shared.Result{Jobs: []shared.Result{{PID: 7, Status: shared.StatusRunning}}}},
	} {
		text, err := json.Marshal(structured(answer))
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(text, &value))
		assert.NoError(t, strict.Validate(value), string(text))
	}
}

func TestMCPCallsATool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := connect(t, nil, "-dialect", "bash-id", "-dir", dir, "-structured")
	r := call(t, s, "pwd; echo problem >&2; exit 3")
	assert.Contains(t, textOf(t, r), "exit code: 3")
	assert.False(t, r.IsError, "in this dialect it is a result")
	got := fields(t, r)
	assert.EqualValues(t, "failed", got.Status)
	assert.Equal(t, 3, got.ExitCode)
	assert.Equal(t, dir+"\n", got.Stdout.Content)
	assert.Equal(t, "problem\n", got.Stderr.Content)

	r = call(t, s, "")
	assert.True(t, r.IsError)
	assert.Contains(t, textOf(t, r), "command is empty")
	assert.EqualValues(t, "INVALID_REQUEST", fields(t, r).Error.Code)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash"})
	require.NoError(t, err)
	assert.Contains(t, textOf(t, r), "command is missing")
	_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nonsense"})
	assert.ErrorContains(t, err, `unknown tool "nonsense"`)
}

func TestMCPCallsAreConcurrent(t *testing.T) {
	t.Parallel()
	s := connect(t, nil)
	g := newGate(t)
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": g.wait() + "; echo first"}})
		assert.NoError(t, err)
		done <- r
	}()
	assert.Contains(t, textOf(t, call(t, s, "echo > "+string(g)+"; echo second")), "second")
	assert.Contains(t, textOf(t, <-done), "first")
}

// Clients cut long answers. What a model must know stands first, and an answer is shorter than
// what they cut.
func TestMCPAnswersAreShortAndSayFirstWhatMatters(t *testing.T) {
	t.Parallel()
	for _, dialect := range tool.Dialects() {
		s := connect(t, nil, "-dialect", string(dialect))
		name := "bash"
		argument := "command"
		switch dialect {
		case tool.Claude:
			name = "Bash"
		case tool.Codex:
			name = "exec_command"
			argument = "cmd"
		}
		for _, command := range []string{"seq 1 100000; exit 3", "for i in {1..3000}; do echo \"$i: error: something is wrong here\"; done; exit 3", "yes | head -n 20000; exit 3"} {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{argument: command}})
			require.NoError(t, err)
			text := textOf(t, r)
			assert.Less(t, len(text), 12000, dialect)
			assert.Regexp(t, `(?i)exit(ed with)? code:? 3`, text[:500], dialect)
			if dialect != tool.Codex { // its shape has no place for it
				assert.Regexp(t, `/\S+\.stdout\.log`, text[:500], dialect)
			}
			if dialect != tool.Codex && dialect != tool.Mode { // these keep both ends
				assert.LessOrEqual(t, strings.Count(text, "\n"), 1000, dialect)
			}
		}
	}
}

func TestMCPCancelEndsTheCommand(t *testing.T) {
	t.Parallel()
	started := make(chan string, 1)
	s := connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		started <- n.Params.Message
	}})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "setsid " + endless + " & echo $!; wait"}}
		params.SetProgressToken("a")
		_, err := s.CallTool(ctx, params)
		failed <- err
	}()
	pid := pidIn(t, <-started)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	gone(t, pid)
	assert.Contains(t, textOf(t, call(t, s, "echo next")), "next")
}

func TestMCPProgressShowsTheOutput(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var shown strings.Builder
	var last float64
	more := make(chan struct{}, 100)
	s := connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		assert.EqualValues(t, "token", n.Params.ProgressToken)
		assert.Greater(t, n.Params.Progress, last)
		last = n.Params.Progress
		shown.WriteString(n.Params.Message)
		more <- struct{}{}
	}})
	g := newGate(t)
	params := &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": `printf '\033[1mfirst\033[m '; ` + g.wait() + `; echo second; echo third >&2`}}
	params.SetProgressToken("token")
	go func() {
		<-more // the first words are shown while the command runs
		g.open(t)
	}()
	r, err := s.CallTool(t.Context(), params)
	require.NoError(t, err)
	assert.Contains(t, textOf(t, r), "second")
	assert.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(shown.String()) == len("first second\nthird\n")
	}, hang, time.Millisecond)
	assert.True(t, strings.HasPrefix(shown.String(), "first "), shown.String())
}

// A client that gives up what is silent for a minute hears of a silent command.
func TestMCPProgressOfASilentCommand(t *testing.T) {
	t.Parallel()
	beats := make(chan float64, 100)
	s := connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		assert.Empty(t, n.Params.Message)
		beats <- n.Params.Progress
	}})
	g := newGate(t)
	params := &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": g.wait()}}
	params.SetProgressToken("token")
	go func() {
		<-beats
		g.open(t)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 3*hang)
	defer cancel()
	_, err := s.CallTool(ctx, params)
	require.NoError(t, err)
}

// lines is a conversation with an MCP server in raw JSON.
type lines struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func talk(t *testing.T) *lines {
	t.Helper()
	l := &lines{t: t, cmd: program(t, "host-example", "mcp")}
	var err error
	l.in, err = l.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := l.cmd.StdoutPipe()
	require.NoError(t, err)
	l.out = bufio.NewReader(out)
	require.NoError(t, l.cmd.Start())
	t.Cleanup(func() {
		if l.cmd.ProcessState == nil {
			_ = l.cmd.Process.Kill()
			_ = l.cmd.Wait()
		}
	})
	answer := l.ask(initialize)
	require.Contains(t, answer, `"serverInfo"`)
	l.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return l
}

func (l *lines) say(line string) {
	l.t.Helper()
	_, err := io.WriteString(l.in, line+"\n")
	require.NoError(l.t, err)
}

// run calls bash, without waiting for the answer.
func (l *lines) run(id int, command string) {
	l.t.Helper()
	text, err := json.Marshal(command)
	require.NoError(l.t, err)
	l.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":%s}}}`, id, text))
}

// cancel cancels a call.
func (l *lines) cancel(id, reason string) {
	l.t.Helper()
	l.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%q}}`, id, reason))
}

// end waits for the server's end, which must come, and returns the exit code.
func (l *lines) end() int {
	l.t.Helper()
	guard := time.AfterFunc(hang, func() { _ = l.cmd.Process.Kill() })
	defer guard.Stop()
	_ = l.cmd.Wait()
	return l.cmd.ProcessState.ExitCode()
}

// ask says something and returns the next line.
func (l *lines) ask(line string) string {
	l.t.Helper()
	l.say(line)
	answer, err := l.out.ReadString('\n')
	require.NoError(l.t, err)
	return answer
}

func TestMCPGoesOnAfterALineThatIsNoMessage(t *testing.T) {
	t.Parallel()
	l := talk(t)
	for line, code := range map[string]string{"garbage": "-32700", `{"jsonrpc":`: "-32700", `{"foo":1}`: "-32600", "5": "-32600", "[]": "-32600", "[1]": "-32600",
		`[{"jsonrpc":"2.0","id":6,"method":"ping"}]`: "-32600", strings.Repeat(" ", 17<<20) + "5": "-32600",
		`{"jsonrpc":"2.0","id":6,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", 17<<20) + `"}}}`: "-32600"} {
		assert.Contains(t, l.ask(line), `{"jsonrpc":"2.0","id":null,"error":{"code":`+code, line[:min(len(line), 80)])
	}
	for _, blanks := range []string{" ", "\t", "\r", "  \r"} {
		assert.Contains(t, l.ask(`{"jsonrpc":"2.0","id":6,"method":"ping"}`+blanks), `"id":6,"result":`)
	}
	long := `{"jsonrpc":"2.0","id":6,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", 15<<20) + `"}}}`
	assert.Contains(t, l.ask(long), `"id":6,"result":`)
	assert.Contains(t, l.ask(`{"jsonrpc":"2.0","id":6,"method":"ping"}`), `"id":6,"result":`)
}

func TestMCPKnowsATimeoutFromAPerson(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"McpError: MCP error -32001: Request timed out", "Request timed out", "context deadline exceeded", "TimeoutError: The operation was aborted due to timeout"} {
		assert.True(t, tookTooLong.MatchString(reason), reason)
	}
	for _, reason := range []string{"", "User rejected: increase the timeout instead", "User pressed ESC: stop timeout tests", "AbortError: This operation was aborted"} {
		assert.False(t, tookTooLong.MatchString(reason), reason)
	}
}

func TestMCPAnswersWhatItCannotDo(t *testing.T) {
	t.Parallel()
	l := talk(t)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":6,"method":"nonsense"}`:                                               `{"jsonrpc":"2.0","id":6,"error":{`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":5}`:                                  `{"jsonrpc":"2.0","id":7,"error":{`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"bash","arguments":"text"}}`: `{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"invalid arguments`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call"}`:                                             `{"jsonrpc":"2.0","id":9,"error":{`,
	} {
		answer := l.ask(line)
		assert.True(t, strings.HasPrefix(answer, want), "%s: %s", line, answer)
	}
	l.in.Close()
	assert.Zero(t, l.end())
}

func TestMCPCancelledByNotification(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", "AbortError: This operation was aborted", "the user pressed Escape"} {
		l, g := talk(t), newGate(t)
		l.run(5, "echo $$ >"+string(g)+"; "+endless)
		pid := pidIn(t, g.read(t))
		l.cancel("5", reason)
		gone(t, pid)
		l.in.Close()
		assert.Zero(t, l.end())
	}
}

// A client that gives a call up because it takes too long does not want the command to
// end: it goes on as a job.
func TestMCPCancelledByATimeout(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"McpError: MCP error -32001: Request timed out", "TimeoutError: The operation was aborted due to timeout", "context deadline exceeded"} {
		for _, id := range []string{`5`, `"5"`} {
			l, g := talk(t), newGate(t)
			l.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo $$ >` + string(g) + `; ` + endless + `"}}}`)
			pid := pidIn(t, g.read(t))
			l.cancel(id, reason)
			l.say(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"bash_jobs"}}`)
			for answer := ""; !strings.Contains(answer, `"id":6`); { // the other call's answer may come first
				var err error
				answer, err = l.out.ReadString('\n')
				require.NoError(t, err)
				assert.NotContains(t, answer, "[no jobs]")
			}
			l.in.Close()
			assert.Zero(t, l.end())
			gone(t, pid)
		}
	}
}

// A call that takes longer than -max-wait is answered, and its command goes on.
func TestMCPMaxWait(t *testing.T) {
	t.Parallel()
	for _, dialect := range tool.Dialects() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := connect(t, nil, "-dialect", string(dialect), "-max-wait", "100ms", "-structured")
			tools, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			i := slices.IndexFunc(tools.Tools, func(t *mcp.Tool) bool { return strings.EqualFold(t.Name, "bash") || t.Name == "exec_command" })
			name := "command"
			if dialect == tool.Codex {
				name = "cmd"
			}
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tools.Tools[i].Name, Arguments: map[string]any{name: endless}})
			require.NoError(t, err)
			got := fields(t, r)
			assert.EqualValues(t, "running", got.Status, got.Text)
		})
	}
	r := hostExample(t, "mcp", "-max-wait", "-1s")
	assert.Equal(t, ran{"", "host-example: -max-wait is -1s: use 0 for no limit, or a positive duration; see host-example mcp -help\n", usageError}, r)
}

func TestMCPTellsItsVersion(t *testing.T) {
	t.Parallel()
	info := connect(t, nil).InitializeResult().ServerInfo
	fields := strings.Fields(hostExample(t, "version").stdout)
	assert.Equal(t, fields[1], info.Version)
}

// What a client asks before it closes its end is answered, as when somebody
// tries the server with a pipe.
func TestMCPAnswersWhatCameBeforeTheEnd(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "mcp")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	r := finish(t, cmd)
	assert.Zero(t, r.code)
	assert.Equal(t, 2, strings.Count(r.stdout, "\n"), r.stdout)
	assert.Contains(t, r.stdout, `"id":2`)
}

func TestMCPEndsWithItsInput(t *testing.T) {
	t.Parallel()
	l := talk(t)
	var pids []int
	for id, background := range []bool{true, false} {
		g := newGate(t)
		l.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":"setsid %s & echo $! >%s; wait","background":%v}}}`,
			id+1, endless, g, background))
		pids = append(pids, pidIn(t, g.read(t)))
	}
	l.in.Close()
	_ = l.cmd.Wait()
	assert.Zero(t, l.cmd.ProcessState.ExitCode())
	for _, pid := range pids {
		gone(t, pid)
	}
}

func TestMCPEndsWithASignal(t *testing.T) {
	t.Parallel()
	l := talk(t)
	require.NoError(t, l.cmd.Process.Signal(syscall.SIGTERM))
	_ = l.cmd.Wait()
	assert.Equal(t, 143, l.cmd.ProcessState.ExitCode())
}

func TestMCPEndsACallWithASignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		l, g := talk(t), newGate(t)
		l.run(1, "setsid "+endless+" & echo $! >"+string(g)+"; wait")
		pid := pidIn(t, g.read(t))
		require.NoError(t, l.cmd.Process.Signal(sig))
		assert.Equal(t, 128+int(sig), l.end(), sig)
		gone(t, pid)
	}
}

func TestMCPEndsAtOnceWithASecondSignal(t *testing.T) {
	t.Parallel()
	l, g := talk(t), newGate(t)
	l.run(1, "trap 'echo $$ >"+string(g)+"' TERM; echo $$ >"+string(g)+"; while :; do sleep 0.01; done")
	pid := pidIn(t, g.read(t))
	require.NoError(t, l.cmd.Process.Signal(syscall.SIGTERM))
	g.read(t) // the command does not end with it
	require.NoError(t, l.cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, l.end())
	gone(t, pid)
}

// TestMCPInspector uses a client that was not written here.
func TestMCPInspector(t *testing.T) {
	t.Parallel()
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Skip("the MCP Inspector needs npx, which is not here:", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	server := program(t, "host-example", "mcp", "-dialect", "check-pid")
	cmd := exec.CommandContext(ctx, npx, append(append([]string{"-y", "@modelcontextprotocol/inspector", "--cli"}, server.Args...),
		"--method", "tools/call", "--tool-name", "bash", "--tool-arg", "command=echo inspected")...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = server.Env, server.Dir, time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && regexp.MustCompile(`npm (ERR!|error) (code|network)`).Match(out) {
		t.Skipf("the MCP Inspector cannot be had from the registry: %s", out)
	}
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), `stdout:\ninspected`)
	assert.NotContains(t, string(out), "structuredContent")
}
