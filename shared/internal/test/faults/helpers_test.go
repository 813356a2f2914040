//go:build unix

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// faultCrowd is a set of processes that hold a named pipe: it tells when they
// are up, and when the last of them is gone.
type faultCrowd struct {
	t    *testing.T
	path string
	fd   int
	told string
}

func newFaultCrowd(t *testing.T) *faultCrowd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crowd")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return &faultCrowd{t: t, path: path, fd: fd}
}

// command returns text as a command of the crowd. In it $p is the text of a
// process that tells its pid on descriptor 9 and stays.
func (c *faultCrowd) command(text string) string {
	return "exec 9>'" + c.path + "'; p='echo $$ >&9; exec sleep 1000'; " + text
}

// read takes what was told. left says whether anybody holds the pipe.
func (c *faultCrowd) read() (left bool) {
	buffer := make([]byte, 64<<10)
	n, err := unix.Read(c.fd, buffer)
	if n > 0 {
		c.told += string(buffer[:n])
	}
	return n > 0 || err == unix.EAGAIN
}

// await waits until n pids were told.
func (c *faultCrowd) await(n int) []int {
	c.t.Helper()
	plugintest.Eventually(c.t, fmt.Sprintf("%d pids in %s", n, c.path), func() bool {
		c.read()
		return strings.Count(c.told, "\n") >= n
	})
	return plugintest.Numbers(c.t, c.told)
}

// awaitGone waits until nobody is left and returns how long that took.
func (c *faultCrowd) awaitGone() time.Duration {
	c.t.Helper()
	begin := time.Now()
	plugintest.Eventually(c.t, "the end of every process that holds "+c.path, func() bool { return !c.read() })
	return time.Since(begin)
}

// faultTrees get away in every way; each tells one pid.
var faultTrees = map[string]string{
	"child":                       `bash -c "$p" & wait`,
	"pipeline":                    `sleep 1000 | bash -c "$p" | cat`,
	"left behind":                 `bash -c "$p" &`,
	"redirected":                  `bash -c "$p" </dev/null >/dev/null 2>&1 & exit 1`,
	"nohup":                       `nohup bash -c "$p" >/dev/null 2>&1 & disown`,
	"own process group":           `set -m; bash -c "$p" & wait`,
	"setsid":                      `setsid bash -c "$p"`,
	"double fork":                 `(bash -c "$p" &); sleep 1000`,
	"daemon":                      `(setsid bash -c "$p" </dev/null >/dev/null 2>&1 &)`,
	"ignores TERM":                `trap '' TERM INT HUP; bash -c "$p"; :`,
	"stopped":                     `bash -c 'echo $$ >&9; kill -STOP $$; sleep 1000'; :`,
	"cleared environment":         `env -i setsid bash -c "$p"; :`,
	"cleared environment, daemon": `(env -i setsid bash -c "$p" </dev/null >/dev/null 2>&1 &); sleep 1000`,
}

// faultTreeCommands are faultTrees as commands of one crowd.
func (c *faultCrowd) treeCommands() []string {
	var commands []string
	for _, text := range faultTrees {
		commands = append(commands, c.command(text))
	}
	return commands
}

// faultHostEnv makes this test program a host that is about to have an
// accident. Its stdin tells which: a faultHostOrders, then the accident.
const faultHostEnv = "FAULT_TEST_HOST"

type faultHostOrders struct {
	Path, LogDir string
	Commands     []string // run in the background
	Leak         bool     // have open descriptors that commands might inherit
	Interrupted  bool     // catch SIGINT, which comes while the plugin starts
}

// runFaultHost is the host's main function.
func runFaultHost() {
	os.Unsetenv(faultHostEnv)
	stdin := bufio.NewReader(os.Stdin)
	text, err := stdin.ReadBytes('\n')
	faultMust(err)
	var orders faultHostOrders
	faultMust(json.Unmarshal(text, &orders))
	if orders.Leak {
		for fd := 100; fd < 110; fd++ {
			faultMust(unix.Dup2(int(os.Stdin.Fd()), fd))
		}
	}
	if orders.Interrupted {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		fmt.Println("ready")
	}
	bash, err := host.Launch(context.Background(), host.LaunchConfig{Path: orders.Path, LogDir: orders.LogDir})
	faultMust(err)
	fmt.Println(bash.PluginPID())
	for _, command := range orders.Commands {
		r, err := bash.Execute(context.Background(), shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground})
		faultMust(err)
		fmt.Println(r.PID)
	}
	line, _ := stdin.ReadString('\n')
	switch line {
	case "panic\n":
		panic("an accident")
	case "exit\n":
		os.Exit(0)
	case "close\n":
		faultMust(bash.Close())
	}
}

func faultMust(err error) {
	if err != nil {
		panic(err)
	}
}

// faultHost is a host in a process of its own.
type faultHost struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Writer
	plugin int   // pid
	pids   []int // of its commands
	temp   string
}

func startFaultHost(t *testing.T, orders faultHostOrders) *faultHost {
	t.Helper()
	orders.Path = plugintest.Path
	if orders.LogDir == "" {
		orders.LogDir = t.TempDir()
	}
	text, err := json.Marshal(orders)
	require.NoError(t, err)
	h := &faultHost{t: t, temp: plugintest.ShortDir(t), cmd: exec.Command("/proc/self/exe")}
	h.cmd.Env = append(os.Environ(), faultHostEnv+"=yes", "TMPDIR="+h.temp)
	h.stdin, err = h.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := h.cmd.StdoutPipe()
	require.NoError(t, err)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: orders.Interrupted}
	require.NoError(t, h.cmd.Start())
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	h.tell(string(text))
	lines := bufio.NewReader(stdout)
	if orders.Interrupted {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready\n", line)
		started := make(chan struct{})
		defer close(started)
		go h.interrupt(started)
	}
	for range 1 + len(orders.Commands) {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		h.pids = append(h.pids, plugintest.Number(t, line))
	}
	h.plugin, h.pids = h.pids[0], h.pids[1:]
	return h
}

// interrupt is Ctrl-C again and again while the plugin, which runs by now, starts.
func (h *faultHost) interrupt(started <-chan struct{}) {
	for {
		select {
		case <-started:
			return
		case <-time.After(100 * time.Microsecond):
		}
		for _, pid := range plugintest.Children(h.t, h.cmd.Process.Pid) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "bash-plugin\n" {
				_ = unix.Kill(-h.cmd.Process.Pid, unix.SIGINT)
			}
		}
	}
}

func (h *faultHost) tell(order string) {
	_, err := io.WriteString(h.stdin, order+"\n")
	require.NoError(h.t, err)
}

// faultTimes collects how long something took.
type faultTimes []time.Duration

func (f *faultTimes) add(d time.Duration) { *f = append(*f, d) }

// log prints the figures of the README's table. On the quiet machine of make
// soak, which they are from, they keep to what is promised (0: nothing is).
func (f faultTimes) log(t *testing.T, what string, promised time.Duration) {
	t.Helper()
	if len(f) == 0 {
		return
	}
	slices.Sort(f)
	worst := f[len(f)-1]
	t.Logf("%s: %d times, median %v, worst %v", what, len(f), f[len(f)/2].Round(time.Millisecond/10), worst.Round(time.Millisecond/10))
	if os.Getenv("SOAK") != "" && promised > 0 {
		assert.LessOrEqual(t, worst, promised, what)
	}
}

// faultRounds is how often each fault is injected.
func faultRounds() int {
	if testing.Short() {
		return 1
	}
	return 3
}

// faultClose checks that Close succeeds in its 5 s.
func faultClose(t *testing.T, bash *host.Client) time.Duration {
	t.Helper()
	begin := time.Now()
	assert.NoError(t, bash.Close())
	return time.Since(begin)
}
