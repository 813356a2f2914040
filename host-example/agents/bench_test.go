//go:build linux

// Package agents runs published agents with the MCP server of host-example against a scripted
// model, and looks at what the model receives.
package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	// folderEnv is the folder where the agents are installed. Without it there is no test.
	folderEnv = "AGENTS"

	// hang bounds each run of an agent: only a broken one reaches it.
	hang = 100 * time.Second
)

// session is an agent that is about to run.
type session struct {
	*exec.Cmd
	log string // file with its output
}

// newSession prepares an agent. server are flags of the MCP server.
func newSession(t *testing.T, a agent, m *model, timeout time.Duration, server ...string) session {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	require.NoError(t, err)
	// The name is short: there are unix sockets in it. What an agent leaves running may still write.
	home, err := os.MkdirTemp("", "agent")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	for _, name := range []string{"logs", "work", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(home, name), 0o700))
	}
	program := []string{filepath.Join(bin, "host-example"), "mcp", "-log-dir", filepath.Join(home, "logs")}
	r := run{
		home:    home,
		model:   m.URL,
		server:  append(program, server...),
		timeout: timeout,
	}
	args, env := a.start(t, r)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(a.modules(), ".bin", a.program), args...)
	cmd.Dir = filepath.Join(home, "work")
	own := []string{
		"HOME=" + home,
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"PATH=" + os.Getenv("PATH"),
		"TERM=dumb",
		"NO_COLOR=1",
		"CI=1",
	}
	cmd.Env = append(own, env...)
	log, err := os.Create(filepath.Join(home, "output"))
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	cmd.Stdout = log
	cmd.Stderr = log
	return session{cmd, log.Name()}
}

// output is what the agent has printed, for the message of a failed test.
func (s session) output() string {
	text, _ := os.ReadFile(s.log)
	return string(text[max(0, len(text)-4000):])
}

// step is a call of the script and a pattern that its answer must match.
type step struct {
	tool      string
	arguments object // JOB stands for the last id that an answer has named
	want      string
}

var jobID = regexp.MustCompile(`job_\w+`)

// play returns the next call of a script.
func play(a agent, steps []step) func(conversation) *call {
	id := ""
	return func(c conversation) *call {
		n := len(c.answers)
		if n > 0 {
			found := jobID.FindAllString(c.answers[n-1], -1)
			if len(found) > 0 {
				id = found[len(found)-1]
			}
		}
		if n >= len(steps) {
			return nil
		}
		arguments := make(object)
		for name, value := range steps[n].arguments {
			if value == "JOB" {
				value = id
			}
			arguments[name] = value
		}
		return &call{a.prefix + steps[n].tool, arguments}
	}
}

// bash is a step that runs a command.
func bash(command, want string) step { return step{"bash", object{"command": command}, want} }

// plays runs a script to its end, and asserts what the model has received.
func plays(
	t *testing.T, a agent, timeout time.Duration, steps []step, server ...string,
) (answers []string, tools map[string]json.RawMessage) {
	t.Helper()
	m := newModel(t, a.prefix+"bash", play(a, steps))
	s := newSession(t, a, m, timeout, server...)
	err := s.Run()
	answers, tools = m.seen()
	for i, answer := range answers {
		if i < len(steps) {
			assert.Regexp(t, "(?s)"+steps[i].want, answer, "step %d", i)
		}
	}
	if !assert.Len(t, answers, len(steps)) {
		t.Logf("%v: %s", err, s.output())
	}
	return answers, tools
}

// asks is a command that asks and waits.
const asks = `read -p 'name? ' x; echo "hi $x"`

// script are the calls of the main case.
func script() []step {
	return []step{
		bash("echo hello; exit 3", `hello\n.*exit code 3`),
		bash(`printf '\033[31mred\033[m \377 end\n'`, "red \uFFFD end\n"),
		bash("seq 1 100000; exit 4", `exit code 4.*Full output: /\S+\.stdout\.log.*\n99999\n100000`),
		bash("for i in {1..3000}; do echo \"error: no $i\"; done; exit 5",
			`exit code 5.*Full output: /\S+\.stdout\.log.*error: no 3000.*Lines left out that look like errors:.*error: no`),
		bash("echo begun; sleep 3; echo ended", `begun\n.*job_\w+ is running`),
		{"bash_job", object{"id": "JOB", "wait": 20, "wait_for_previous": true}, `ended\n.*exit code 0`},
		bash("echo up; exec sleep 300", `up\n.*job_\w+ is running`),
		{"bash_kill", object{"id": "JOB"}, `job_\w+ terminated`},
		bash("sleep 300 & echo left", `left\n.*left running \d+ \(sleep 300\)`),
		{"bash_jobs", object{}, `job_\w+ ended with exit code 0, but left running \d+ \(sleep 300\)`},
		{"bash_kill", object{"id": "JOB"}, `job_\w+ terminated`},
		{"bash", object{"command": asks, "tty": true, "timeout": "1"}, `name\?.*waits for input`},
		{"bash_input", object{"id": "JOB", "input": "eve\r"}, `hi eve`},
	}
}

// forEach runs a test for each agent.
func forEach(t *testing.T, test func(*testing.T, agent)) {
	t.Helper()
	t.Parallel()
	if os.Getenv(folderEnv) == "" {
		t.Skip("make test-agents installs the agents and runs this")
	}
	for _, a := range agentList() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

func TestAgentsAtWork(t *testing.T) {
	forEach(t, func(t *testing.T, a agent) {
		answers, tools := plays(t, a, 0, script(), "-max-wait", "2s")
		if t.Failed() {
			return
		}
		total := 0
		for name, definition := range tools {
			if strings.HasPrefix(name, a.prefix) {
				total += len(definition)
			}
		}
		results.add(rowSize, a, fmt.Sprintf("%.1f KB", float64(total)/1000), "")
		results.addAnswers(a, answers, true)
	})
}

// The client gives a call up: its model finds the command among the jobs, whatever the client
// says to the server.
func TestAgentsGiveACallUp(t *testing.T) {
	forEach(t, func(t *testing.T, a agent) {
		plays(t, a, 2*time.Second, []step{
			bash("echo begun; exec sleep 300", ""),
			{"bash_jobs", object{}, `job_\w+ (is running|cancelled and killed).*echo begun`},
			{"bash_job", object{"id": "JOB"}, `begun\n`},
			{"bash_kill", object{"id": "JOB"}, `job_\w+ (terminated|had already ended)`},
		}, "-max-wait", "0")
	})
}

// Whatever ends the agent, nothing of a command is left.
func TestAgentsThatEnd(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			forEach(t, func(t *testing.T, a agent) {
				left := endAmidACommand(t, a, sig, func(command string) *call {
					return &call{a.prefix + "bash", object{"command": command}}
				})
				assert.Zero(t, left, "processes that are left")
				results.add("left after "+signalName(sig), a, fmt.Sprint(left), "")
			})
		})
	}
}

func signalName(sig syscall.Signal) string { return unix.SignalName(sig) }

// endAmidACommand signals an agent while a tool runs a command, and returns how many of the
// command's two processes are left.
func endAmidACommand(t *testing.T, a agent, sig syscall.Signal, runs func(command string) *call) int {
	t.Helper()
	mark := fmt.Sprintf("1000.%d%d", os.Getpid(), time.Now().UnixNano())
	command := fmt.Sprintf("sleep %s & setsid sleep %[1]s & wait", mark)
	first := runs(command)
	m := newModel(t, first.name, func(c conversation) *call {
		if len(c.answers) > 0 {
			return nil
		}
		return first
	})
	s := newSession(t, a, m, 0)
	require.NoError(t, s.Start())
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	marked := func() []int { return processes("sleep", mark) }
	if !assert.Eventually(t, func() bool { return len(marked()) == 2 }, hang/2, 20*time.Millisecond) {
		t.Log(s.output())
	}
	for _, pid := range lineage(t, s.Process.Pid, filepath.Dir(s.log)) {
		_ = syscall.Kill(pid, sig)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second): // it does not end with this signal
		_ = s.Process.Kill()
		<-ended
	}
	for until := time.Now().Add(5 * time.Second); len(marked()) > 0 && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
	left := marked()
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(left)
}

// processes returns those whose program and whose arguments have these words.
func processes(words ...string) []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		isIt := strings.HasPrefix(string(text), words[0])
		for _, word := range words {
			isIt = isIt && strings.Contains(string(text), word)
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); isIt && err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lineage returns an agent's processes from the one that was started, which may be a wrapper, to
// the one that has started the MCP server.
func lineage(t *testing.T, first int, home string) []int {
	t.Helper()
	server, err := filepath.Abs("../../bin/host-example")
	require.NoError(t, err)
	servers := processes(server, home)
	require.NotEmpty(t, servers)
	var pids []int
	for pid := parent(servers[0]); pid > 1; pid = parent(pid) {
		pids = append(pids, pid)
		if pid == first {
			return pids
		}
	}
	t.Errorf("%d has not started the MCP server", first)
	return nil
}

// parent returns the parent of a process, 0 if there is none.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	number, _ := strconv.Atoi(fields[1])
	return number
}
