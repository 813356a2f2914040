package confinement

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// sayHello is what a listener of these tests does.
func sayHello(conn net.Conn) {
	_, _ = io.WriteString(conn, "hello")
	conn.Close()
}

func TestNoNetwork(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		_, port, _ := net.SplitHostPort(plugintest.Listen(t, "tcp", "127.0.0.1:0", sayHello))
		bash := y.Launch(t, &shared.Confine{NoNetwork: true})
		tcp := "cat </dev/tcp/127.0.0.1/" + port
		assert.Equal(t, "hello", plugintest.Run(t, y.Launch(t, nil), tcp).Stdout.Content)
		plugintest.Says(t, plugintest.Run(t, bash, tcp), "Permission denied")
		r := plugintest.Run(t, bash, plugintest.Python(t, `
for family in range(0, 50):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind).close()
            print("open", family)
        except PermissionError: print("refused", family)
        except OSError as e: print(e, family)
try: socket.socketpair(socket.AF_INET)
except PermissionError: print("no pair")
a, b = socket.socketpair()
a.send(b"unix works"); print(b.recv(20).decode())
for number in (425, 0x40000000 | 41):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), 2, 1, 0); print(number, os.strerror(ctypes.get_errno()))
`))
		for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG} {
			assert.Equal(t, 3, strings.Count(r.Stdout.Content, fmt.Sprintf("refused %d\n", family)), "family %d", family)
		}
		assert.NotContains(t, strings.ReplaceAll(r.Stdout.Content, "open 1\n", ""), "open")
		plugintest.Says(t, r, "no pair\nunix works\n")
		plugintest.Says(t, r, "425 Function not implemented\n") // io_uring_setup
		if runtime.GOARCH == "amd64" {
			plugintest.Says(t, r, strconv.Itoa(0x40000000|unix.SYS_SOCKET)+" Operation not permitted\n") // x32
		}
	})
}

// int80 is a program that makes a socket by the system call of 32-bit programs and exits
// with its number, or with 255.
var int80 = []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00\x78\x00\x40\x00\x00\x00\x00\x00" +
	"\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x38\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
	"\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00" +
	"\xa0\x00\x00\x00\x00\x00\x00\x00\xa0\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00" +
	"\xb8\x67\x01\x00\x00\xbb\x02\x00\x00\x00\xb9\x01\x00\x00\x00\x31\xd2\xcd\x80\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05" +
	"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90")

func TestNoNetworkBySystemCallsOf32BitPrograms(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("only x86-64 has int 0x80")
	}
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		require.NoError(t, os.WriteFile(filepath.Join(y.Inside, "int80"), int80, 0o755))
		if free := plugintest.Run(t, y.Launch(t, nil), "./int80"); free.ExitCode != 3 {
			t.Skipf("the kernel has no system calls of 32-bit programs: exit code %d", free.ExitCode)
		}
		assert.Equal(t, 255, plugintest.Run(t, y.Launch(t, &shared.Confine{NoNetwork: true}), "./int80").ExitCode)
	})
}

func TestUnixSocketsOfOthers(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		path, abstract := filepath.Join(y.Outside, "socket"), fmt.Sprintf("@bashplugin-test-%d-%d", os.Getpid(), y.UID)
		plugintest.Listen(t, "unix", path, sayHello)
		require.NoError(t, os.Chmod(path, 0o777))
		plugintest.Listen(t, "unix", abstract, sayHello)
		connect := plugintest.Python(t, "for address in (b'"+path+"', b'\\0"+abstract[1:]+`'):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(address); print(s.recv(9).decode())
    except OSError as e: print(e)
`)
		assert.Equal(t, "hello\nhello\n", plugintest.Run(t, y.Launch(t, nil), connect).Stdout.Content)
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, Private: true, NoNetwork: true})
		// The first one is what Linux does not keep, as the documentation says.
		assert.Equal(t, "hello\n[Errno 1] Operation not permitted\n", plugintest.Run(t, bash, connect).Stdout.Content)
	})
}

func TestConfinedCommandsReachNoForeignProcess(t *testing.T) {
	t.Parallel()
	for what, confine := range map[string]*shared.Confine{"files": {ReadOnly: true}, "network": {NoNetwork: true}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
				free, bash := y.Launch(t, nil), y.Launch(t, confine)
				host := "$(ps -o ppid= $PPID | tr -d ' ')"
				guardian := "$(pgrep -P $PPID -f ^bash-guardian)"
				other := strconv.Itoa(plugintest.Background(t, bash, plugintest.Forever).PID)
				own := plugintest.Run(t, bash, "sleep 1000 & kill -STOP $! && kill -KILL $! && wait $!")
				assert.Equal(t, 137, own.ExitCode, "it may signal its own")
				victims := map[string]string{
					"plugin": "$PPID", "guardian": guardian, "another command": other, "another plugin": strconv.Itoa(free.PluginPID()),
				}
				if y.UID == os.Getuid() {
					victims["host"] = host
				}
				for name, pid := range victims {
					if name != "another command" { // which it may signal
						r := plugintest.Run(t, bash, "kill -0 "+pid)
						plugintest.Says(t, r, "Operation not permitted")
						assert.Equal(t, shared.StatusFailed, r.Status, name)
						assert.Equal(t, shared.StatusCompleted, plugintest.Run(t, free, "kill -0 "+pid).Status, name)
					}
					attach := plugintest.Python(t, "print(libc.ptrace(16, int(os.environ['VICTIM']), 0, 0), os.strerror(ctypes.get_errno()))")
					r := plugintest.Run(t, bash, "export VICTIM="+pid+"; cat /proc/$VICTIM/mem; cat /proc/$VICTIM/environ; cat /proc/$VICTIM/fd/0; ls /proc/$VICTIM/root/; "+attach)
					plugintest.Says(t, r, "-1 Operation not permitted")
					assert.Equal(t, 4, strings.Count(r.Stderr.Content, "Permission denied"), "%s: %s", name, r.Stderr.Content)
				}
				assert.Equal(t, shared.StatusRunning, plugintest.Check(t, bash, shared.CheckRequest{PID: plugintest.Number(t, other)}).Status)
			})
		})
	}
}

func TestSudoSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		r := plugintest.Run(t, y.Launch(t, &shared.Confine{NoNetwork: true}), "sudo -n true")
		if r.ExitCode == 127 || y.UID == 0 {
			t.Skip("root needs no sudo, or there is none")
		}
		plugintest.Says(t, r, "no new privileges")
	})
}

// Sixty confined commands beside sixty others leave the others, and the plugin, free.
func TestOnlyTheCommandIsConfined(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, nil)
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo x >$OUT/file || : </dev/tcp/127.0.0.1/1", Confine: &shared.Confine{ReadOnly: true, NoNetwork: true}})
				assert.Contains(t, r.Stderr.Content, "file: Permission denied")
				assert.Contains(t, r.Stderr.Content, "1: Permission denied")
			})
			wg.Go(func() {
				r := plugintest.Run(t, bash, "echo x >$OUT/file && grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; : </dev/tcp/127.0.0.1/1")
				assert.Equal(t, "NoNewPrivs:\t0\nSeccomp:\t0\n", r.Stdout.Content, r.Stderr.Content)
				assert.Contains(t, r.Stderr.Content, "Connection refused")
			})
		}
		wg.Wait()
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", bash.PluginPID()))
		require.NoError(t, err)
		for _, thread := range threads {
			plugintest.Eventually(t, "the end or freedom of "+thread, func() bool {
				text, err := os.ReadFile(thread)
				return err != nil || strings.Contains(string(text), "NoNewPrivs:\t0") && strings.Contains(string(text), "Seccomp:\t0")
			})
		}
	})
}

// 5,000 confined commands leave neither threads nor descriptors nor folders.
func TestConfinedCommandsLeaveNothing(t *testing.T) {
	t.Parallel()
	plugintest.NeedsConfine(t)
	temp, err := os.MkdirTemp("", "temp-") // a short path, which the plugin takes for its folder
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(temp) })
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}, Confine: &shared.Confine{ReadOnly: true, Private: true, NoNetwork: true},
		Resources: shared.Resources{Memory: 4 << 30, CPU: time.Hour, Processes: 1000, Disk: 1 << 30}})
	commands := func(each int) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range each {
					assert.Equal(t, shared.StatusCompleted, plugintest.Run(t, bash, "true").Status)
				}
			})
		}
		wg.Wait()
	}
	commands(10)
	before := plugintest.Holds(t, bash.PluginPID())
	commands(3000 / 8 / (10 / plugintest.Scale()))
	plugintest.RequireBack(t, bash.PluginPID(), before)
	plugintest.Eventually(t, "the end of the TMPDIRs", func() bool {
		left, _ := filepath.Glob(temp + "/*/tmp-*")
		return len(left) == 0
	})
}

// A kernel without a part keeps a command from starting, or with BestEffort the rest.
func TestAKernelThatLacksAPart(t *testing.T) {
	t.Parallel()
	plugintest.NeedsConfine(t)
	y := plugintest.NewYard(t, os.Getuid())
	all := shared.Confine{ReadOnly: true, Private: true, NoNetwork: true}
	for name, c := range map[string]struct {
		call  int
		lacks []string
		kept  string
		says  string
	}{
		"Landlock": {unix.SYS_LANDLOCK_CREATE_RULESET, []string{"files", "signals", "Linux 5.13", "BestEffort"}, "network: none; this system cannot keep: files", "1: Permission denied"},
		"seccomp":  {unix.SYS_SECCOMP, []string{"network", "seccomp", "BestEffort"}, "the system's folders; this system cannot keep: network", "file: Permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			y := *y
			y.Env = append(y.Env, plugintest.LacksEnv+"="+strconv.Itoa(c.call))
			bash := y.Launch(t, &all)
			_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
			e := plugintest.RequireCode(t, err, shared.ErrStart)
			for _, text := range c.lacks {
				assert.Contains(t, e.Message, text)
			}
			best := all
			best.BestEffort = true
			_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Confine: &best})
			plugintest.RequireCode(t, err, shared.ErrStart) // a request does not loosen its session

			r := plugintest.Run(t, y.Launch(t, &best), "echo x >$OUT/file; : </dev/tcp/127.0.0.1/1")
			assert.Contains(t, r.Confined, c.kept)
			plugintest.Says(t, r, c.says)
			assert.NotRegexp(t, "(?s)file: Perm.*1: Perm", r.Stderr.Content)
		})
	}
}
