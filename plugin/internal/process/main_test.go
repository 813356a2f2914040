package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/process"
)

// patience bounds every wait of these tests; none should come near it.
const patience = time.Minute

// As in the plugin, only orphans are the main thread's children. Unlike TestMain, init
// always runs on the main thread.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	switch {
	case process.IsGuardian():
		if process.RunGuardian(func(string) process.Logs { return nil }) != nil {
			os.Exit(1)
		}
	case os.Getenv(doomedEnv) != "":
		runDoomed()
	case os.Getenv(headlessEnv) != "":
		runHeadless()
	case os.Getenv(sudoEnv) != "":
		runSudo()
	case os.Getenv(deniedEnv) != "":
		runDenied()
	default:
		os.Exit(run(m))
	}
}

// run fails a run that leaves a child, alive or dead.
func run(m *testing.M) int {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // for the processes of the tests
	code := m.Run()
	if !table().Close() {
		fmt.Fprintln(os.Stderr, "cannot end every process")
		return 1
	}
	if left := children(os.Getpid()); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		return 1
	}
	return code
}

// headlessEnv makes this program one whose first thread ends while others go
// on. To the system it looks like a zombie that lives.
const headlessEnv = "PROCESS_TEST_HEADLESS"

func runHeadless() {
	go func() {
		for first := true; ; time.Sleep(time.Millisecond) {
			text, _ := os.ReadFile("/proc/self/stat")
			if first && strings.Contains(string(text), ") Z") {
				fmt.Fprintln(os.NewFile(3, "tell"), os.Getpid())
				first = false
			}
		}
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// command is a group whose processes tell their pids on descriptor 3.
type command struct {
	*process.Group
	t    *testing.T
	tell *bufio.Reader
}

// prelude defines $p: the text of a process that tells its pid and stays.
// $program is this program.
const prelude = `p='echo $$ >&3; exec sleep 1000'; `

func start(t *testing.T, text string) *command {
	t.Helper()
	here, there, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { here.Close() })
	defer there.Close()
	return &command{startWith(t, text, there), t, bufio.NewReader(here)}
}

// startWith starts a command that has file as descriptor 3.
func startWith(t *testing.T, text string, file *os.File) *process.Group {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	g, err := table().Start(spec(text, null, file))
	require.NoError(t, err)
	t.Cleanup(func() { g.End(syscall.SIGKILL, 0) })
	return g
}

func spec(text string, null, tell *os.File) process.Spec {
	bash, _ := exec.LookPath("bash")
	program, _ := os.Executable()
	return process.Spec{
		Path: bash, Args: []string{"bash", "-c", prelude + text}, Dir: "/", Env: append(os.Environ(), "program="+program),
		Files: []*os.File{null, null, null, tell},
	}
}

// pids reads n pids.
func (c *command) pids(n int) []int {
	c.t.Helper()
	guard := time.AfterFunc(patience, func() { panic(c.t.Name() + ": the command tells no pids") })
	defer guard.Stop()
	var pids []int
	for range n {
		line, err := c.tell.ReadString('\n')
		require.NoError(c.t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(c.t, err)
		pids = append(pids, pid)
	}
	return pids
}

// silent waits until no process holds descriptor 3 any more.
func (c *command) silent() {
	c.t.Helper()
	guard := time.AfterFunc(patience, func() { panic(c.t.Name() + ": a process still holds its pipe") })
	defer guard.Stop()
	_, err := c.tell.Discard(1 << 30)
	require.Error(c.t, err)
}

// table returns the tests' own: orphans come to the process, so that it is one
// for all of them.
var table = sync.OnceValue(func() *process.Table { return process.NewTable(nil) })

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "not within %v: %s", patience, what)
	}
}

func closed(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		require.FailNow(t, "not within "+patience.String(), what)
	}
}

// lives reports whether a process exists and is no zombie.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unix.Kill(pid, 0) == nil && !exists("/proc/self/stat")
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	threads, _ := strconv.Atoi(fields[17])
	return fields[0] != "Z" && fields[0] != "X" || threads > 1
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// living returns those of pids that live.
func living(pids []int) []int {
	var left []int
	for _, pid := range pids {
		if lives(pid) {
			left = append(left, pid)
		}
	}
	return left
}

// childPIDs lists the children of a process, dead ones included.
func childPIDs(parent int) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			found = append(found, pid)
		}
	}
	return found
}

// children describes the children of a process: pid, name and state.
func children(parent int) []string {
	var found []string
	for _, pid := range childPIDs(parent) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		name, _, _ := strings.Cut(string(text), fmt.Sprintf(" %d ", parent))
		found = append(found, name)
	}
	return found
}
