package confinement

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// confines are Confines of each part alone.
func confines() map[string]*shared.Confine {
	return map[string]*shared.Confine{"files": {ReadOnly: true}, "reading": {Private: true}, "network": {NoNetwork: true}}
}

// victim starts a process of the yard's user that no plugin has started.
func victim(t *testing.T, y *plugintest.Yard) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if y.UID != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(y.UID), Gid: uint32(y.UID)}
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// limitsOf returns the limits of a process as the kernel tells them.
func limitsOf(t *testing.T, pid int) string {
	t.Helper()
	return plugintest.ReadFile(t, fmt.Sprintf("/proc/%d/limits", pid))
}

// prlimit32 is a program that sets the limit of processor time of a process to one second, by
// the system call of 32-bit programs. It exits with the number of the error.
func prlimit32(pid int) []byte {
	const base, headers = 0x400000, 0x78
	number := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	code := bytes.Join([][]byte{
		[]byte("\xb8"), number(340), // mov eax, prlimit64
		[]byte("\xbb"), number(pid), // mov ebx, pid
		[]byte("\xb9"), number(0), // mov ecx, RLIMIT_CPU
		[]byte("\xba"), number(base + headers + 64), // mov edx, limits
		[]byte("\x31\xf6\xcd\x80"),                     // xor esi, esi; int 0x80
		[]byte("\x89\xc7\xf7\xdf"),                     // mov edi, eax; neg edi
		[]byte("\xb8"), number(60), []byte("\x0f\x05"), // mov eax, exit; syscall
	}, nil)
	limits := []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00")
	program := append([]byte{}, int80[:headers]...)
	program = append(program, code...)
	program = append(program, make([]byte, 64-len(code))...)
	program = append(program, limits...)
	for _, size := range []int{0x60, 0x68} { // of the segment, in the file and in memory
		binary.LittleEndian.PutUint64(program[size:], uint64(len(program)))
	}
	return program
}

// A limit of processor time kills, and one of open files makes a plugin useless.
func TestConfinedCommandsLimitNoOtherProcess(t *testing.T) {
	t.Parallel()
	call := map[string]string{"amd64": "302", "arm64": "261"}[runtime.GOARCH]
	raw := func(pid string) string {
		return plugintest.Python(t, "V = int(os.environ['V'])\n"+
			"libc.syscall(ctypes.c_long("+call+"), ctypes.c_long("+pid+"), ctypes.c_long(0), struct.pack('QQ', 900, 900), None)")
	}
	attacks := map[string]string{
		"processor time":  "prlimit --pid $V --cpu=900:900",
		"open files":      "prlimit --pid $V --nofile=5:5",
		"high bits":       raw("V | 5 << 32"),
		"a negative half": raw("V - (1 << 32)"),
		"32-bit programs": "./prlimit32-$V",
	}
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		changes := func(bash shared.Bash, attack string, pid int) bool {
			program := filepath.Join(y.Inside, "prlimit32-"+strconv.Itoa(pid))
			require.NoError(t, os.WriteFile(program, prlimit32(pid), 0o755))
			before := limitsOf(t, pid)
			plugintest.Execute(t, bash, shared.ExecuteRequest{Command: attack, Env: []string{"V=" + strconv.Itoa(pid)}})
			return before != limitsOf(t, pid)
		}
		free := y.Launch(t, nil)
		confined := make(map[string]*host.Client)
		for what, confine := range confines() {
			confined[what] = y.Launch(t, confine)
		}
		for name, attack := range attacks {
			for what, bash := range confined {
				assert.False(t, changes(bash, attack, victim(t, y)), "%s, %s", name, what)
				assert.False(t, changes(bash, attack, bash.PluginPID()), "%s, %s: the plugin", name, what)
			}
			isOne := changes(free, attack, victim(t, y))
			if name == "32-bit programs" && !isOne {
				t.Log("the kernel has no system calls of 32-bit programs")
				continue
			}
			assert.True(t, isOne, "%s is no attack", name)
		}
		for what, bash := range confined {
			own := plugintest.Run(t, bash, "ulimit -n 99 && ulimit -n && prlimit --nofile=98 bash -c 'ulimit -n' && prlimit --pid $$ >/dev/null")
			assert.Equal(t, "99\n98\n", own.Stdout.Content, "%s: %s", what, own.Stderr.Content)
		}
	})
}

// The tag tells which processes belong to a job. A command that takes it off would be out of
// its limits as soon as its parent ends.
func TestTheTagCannotBeTakenOff(t *testing.T) {
	t.Parallel()
	attacks := map[string]string{
		"ulimit":          "ulimit -S -x 0",
		"another job's":   "ulimit -S -x $(( $(ulimit -S -x) - 1 ))",
		"prlimit":         "prlimit --pid $$ --locks=unlimited:unlimited",
		"prlimit, a call": plugintest.Python(t, "import resource; resource.prlimit(0, 10, (0, -1))"),
		"setrlimit": plugintest.Python(t, "import resource, sys\nnumber = {'x86_64': 160, 'aarch64': 164}[os.uname().machine]\n"+
			"libc.syscall(ctypes.c_long(number), ctypes.c_long(10), struct.pack('QQ', 0, 1 << 40)); sys.exit(resource.getrlimit(10)[0] != 0)"),
	}
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		free := y.Launch(t, nil)
		for name, attack := range attacks {
			assert.Equal(t, 0, plugintest.Run(t, free, attack).ExitCode, "%s is no attack", name)
			for what, confine := range confines() {
				r := plugintest.Execute(t, free, shared.ExecuteRequest{Command: attack, Confine: confine})
				assert.NotEqual(t, 0, r.ExitCode, "%s, %s: %s", name, what, r)
			}
			r := plugintest.Execute(t, free, shared.ExecuteRequest{Command: attack, Resources: shared.Resources{Processes: 100}})
			assert.NotEqual(t, 0, r.ExitCode, "%s, limits: %s", name, r)
		}
		r := plugintest.Execute(t, free, shared.ExecuteRequest{
			Command:   "ulimit -S -x 0; for i in {1..100}; do setsid -f sleep 1000; done; sleep 1000",
			Resources: shared.Resources{Processes: 50},
		})
		assert.Equal(t, shared.CauseProcesses, r.Cause, "%s", r)
		assert.Empty(t, r.Leftover)
	})
}

// A process that somebody has given the tag is not the plugin's for that.
func TestTheTagAloneCondemnsNobody(t *testing.T) {
	t.Parallel()
	plugintest.EachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, nil)
		guardian := plugintest.Number(t, plugintest.Run(t, bash, "pgrep -P $PPID -f ^bash-guardian").Stdout.Content)
		victim := victim(t, y)
		job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: fmt.Sprintf(
			"setsid -f sleep 1000; prlimit --pid %d --locks=$(ulimit -S -x): && echo given; exec sleep 1000", victim), Mode: shared.ModeBackground})
		plugintest.AwaitText(t, bash, job.PID, "given")
		tag := func(pid int) string { return strings.Fields(strings.Split(limitsOf(t, pid), "Max file locks")[1])[0] }
		require.Equal(t, tag(job.PID), tag(victim))
		require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
		plugintest.AwaitDeath(t, job.PID, guardian)
		assert.True(t, plugintest.Alive(victim))
	})
}

// A command that wants this tool to trace it stops at each signal and takes none.
func TestATracedCommandEnds(t *testing.T) {
	t.Parallel()
	traced := "exec " + plugintest.Python(t, "print('up', flush=True); libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), 10)")
	plugintest.EachUser(t, func(t *testing.T, y *plugintest.Yard) {
		t.Parallel()
		bash := y.Launch(t, nil)
		for _, confine := range []*shared.Confine{nil, {NoNetwork: true, BestEffort: true}} {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: traced, Mode: shared.ModeTerminate, Timeout: plugintest.Soon, Confine: confine})
			assert.Equal(t, shared.CauseTimeout, r.Cause, "%s", r)
			assert.False(t, plugintest.Alive(r.PID))
			ctx, cancel := context.WithTimeout(t.Context(), plugintest.Soon)
			r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: traced, Confine: confine})
			cancel()
			require.NoError(t, err)
			assert.Equal(t, shared.CauseCancel, r.Cause, "%s", r)
			job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "(" + traced + "\n) & exec sleep 1000", Mode: shared.ModeBackground, Confine: confine})
			plugintest.AwaitText(t, bash, job.PID, "up")
			assert.Equal(t, shared.CauseKill, plugintest.Kill(t, bash, job.PID).Cause)
			orphan := plugintest.Run(t, bash, "setsid -f "+traced)
			if len(orphan.Leftover) > 0 {
				plugintest.Kill(t, bash, orphan.PID)
				plugintest.AwaitDeath(t, orphan.Leftover[0].PID)
			}
		}
	})
}

// foreignTerminal opens a terminal of the yard's user that is no process's, and returns its path.
func foreignTerminal(t *testing.T, y *plugintest.Yard) (ours *os.File, path string) {
	t.Helper()
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	require.NoError(t, os.Chown(theirs.Name(), y.UID, -1))
	return ours, theirs.Name()
}

// The leader of a session gets a terminal that it opens: /dev/tty would lead there.
func TestAForeignTerminalIsOutOfReach(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		free := y.Launch(t, nil)
		confined := y.Launch(t, &shared.Confine{ReadOnly: true})
		for _, way := range []string{
			"os.open(path, os.O_RDONLY); os.write(os.open('/dev/tty', os.O_WRONLY), b'hello')",
			"os.write(os.open(path, os.O_WRONLY), b'hello')",
			"import fcntl; fd = os.open(path, os.O_RDONLY); [fcntl.ioctl(fd, 0x5412, bytes([c])) for c in b'hello']",
			"import fcntl; os.open(path, os.O_RDONLY); fd = os.open('/dev/tty', os.O_RDONLY); [fcntl.ioctl(fd, 0x5412, bytes([c])) for c in b'hello']",
		} {
			ours, path := foreignTerminal(t, y)
			attack := "exec " + plugintest.Python(t, "path = '"+path+"'; "+way)
			assert.Contains(t, plugintest.Run(t, confined, attack).Stderr.Content, "PermissionError", way)
			if !strings.Contains(way, "/dev/tty") { // with a terminal of its own that leads to its own
				r := plugintest.Execute(t, confined, shared.ExecuteRequest{Command: attack, Stdin: shared.StdinTTY})
				assert.Contains(t, r.Stdout.Content, "PermissionError", way)
			}
			written, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCINQ)
			require.NoError(t, err)
			assert.Zero(t, written, way)
			if strings.Contains(way, "os.write") {
				assert.Equal(t, 0, plugintest.Run(t, free, attack).ExitCode, "%s is no attack", way)
			}
		}
	})
}

func TestAConfinedCommandOpensItsOwnTerminal(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		for _, confine := range []*shared.Confine{{ReadOnly: true}, {ReadOnly: true, Private: true}} {
			bash := y.Launch(t, confine)
			_, foreign := foreignTerminal(t, y)
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Stdin: shared.StdinTTY, Command: "echo a >/dev/stderr; echo b | tee /dev/stderr; echo c >$(tty); echo d >/dev/tty; echo e >" + foreign})
			assert.Regexp(t, "^a\nb\nb\nc\nd\n.*/dev/pts/\\d+: Permission denied\n$", r.Stdout.Content)
		}
	})
}

// What all processes of a user share, and no file stands for, is out of reach.
func TestNoIPCOfOthers(t *testing.T) {
	t.Parallel()
	program := plugintest.Python(t, `
numbers = {"x86_64": [29, 64, 68, 30, 31, 71, 240, 250, 248], "aarch64": [194, 190, 186, 196, 195, 187, 180, 219, 217]}[os.uname().machine]
for number in numbers:
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0)
    print(ctypes.get_errno() == 38)
print(socket.AF_UNIX, os.memfd_create("x") > 0)
import multiprocessing; print(multiprocessing.Pipe() is not None)
`)
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		free := y.Launch(t, nil)
		assert.NotContains(t, plugintest.Run(t, free, program).Stdout.Content, strings.Repeat("True\n", 9))
		for what, confine := range confines() {
			r := plugintest.Execute(t, free, shared.ExecuteRequest{Command: program, Confine: confine})
			assert.Equal(t, strings.Repeat("True\n", 9)+"1 True\nTrue\n", r.Stdout.Content, "%s: %s", what, r.Stderr.Content)
		}
	})
}

func TestZombiesAreProcesses(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, nil)
		command := plugintest.Python(t, "import time\nfor i in range(300): os.fork() or os._exit(0)\ntime.sleep(1000)")
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Resources: shared.Resources{Processes: 50}, Mode: shared.ModeTerminate, Timeout: plugintest.Hang})
		assert.Equal(t, shared.CauseProcesses, r.Cause, "%s", r)
		assert.Greater(t, r.Usage.MaxProcesses, 50)
	})
}

func TestTheTMPDIRGoesWithAKilledPlugin(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true})
		job := plugintest.Execute(t, bash, shared.ExecuteRequest{
			Command: "mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && chmod 0 $TMPDIR/a/b && chmod 555 $TMPDIR/a && echo $TMPDIR; exec sleep 1000",
			Mode:    shared.ModeBackground,
		})
		temp := strings.TrimSpace(plugintest.AwaitText(t, bash, job.PID, "tmp-").Stdout.Content)
		require.DirExists(t, temp)
		require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
		plugintest.Eventually(t, "the end of "+temp, func() bool {
			left, err := filepath.Glob(filepath.Join(y.Root, "tmp", "bash-plugin-run-*"))
			return err == nil && len(left) == 0
		})
	})
}

// A confinement names paths, not the files that were there when the session began.
func TestAFolderThatIsMadeAnewStaysWritable(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		build := filepath.Join(y.Root, "build")
		makeAnew := func() {
			require.NoError(t, os.RemoveAll(build))
			require.NoError(t, os.Mkdir(build, 0o755))
			require.NoError(t, os.Chown(build, y.UID, -1))
		}
		makeAnew()
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, Writable: []string{build}})
		for range 3 {
			assert.Equal(t, shared.StatusCompleted, plugintest.Run(t, bash, "echo x >"+build+"/x").Status)
			makeAnew()
		}
		require.NoError(t, os.RemoveAll(build))
		require.NoError(t, os.Symlink(y.Outside, build))
		plugintest.Says(t, plugintest.Run(t, bash, "echo x >"+build+"/file"), "Permission denied")
		assert.Equal(t, "secret\n", plugintest.ReadFile(t, filepath.Join(y.Outside, "file")))
	})
}

// Programs make unix sockets in TMPDIR, whose paths may have about 100 bytes.
func TestATMPDIRHasRoomForASocket(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, NoNetwork: true})
		command := plugintest.Python(t, "path = os.environ['TMPDIR'] + '/ssh-XXXXXXXXXX/agent.1234567'\nos.mkdir(os.path.dirname(path))\n"+
			"socket.socket(socket.AF_UNIX).bind(path); print('bound', len(path))")
		plugintest.Says(t, plugintest.Run(t, bash, command), "bound")
	})
}

// Threads of the plugin that are confined as a command is would be in its reach: it could
// signal them, and with them the plugin, and write to the plugin's memory.
func TestNoThreadOfThePluginIsInReach(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true})
		plugin := bash.PluginPID()
		job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.Forever, Mode: shared.ModeBackground})
		tty := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.Forever, Mode: shared.ModeBackground, Stdin: shared.StdinTTY})
		for range 20 {
			r := plugintest.Run(t, bash, "for thread in /proc/$PPID/task/*; do kill -9 ${thread##*/} && echo killed; kill -STOP ${thread##*/} && echo stopped; done")
			assert.Empty(t, r.Stdout.Content)
		}
		r := plugintest.Run(t, bash, "exec "+plugintest.Python(t, `
for thread in os.listdir("/proc/%d/task" % os.getppid()):
    ctypes.set_errno(0)
    print(libc.ptrace(0x4206, int(thread), 0, 0), ctypes.get_errno())`))
		assert.Contains(t, r.Stdout.Content, "-1 1\n")
		assert.NotContains(t, r.Stdout.Content, "0 0\n")
		for _, j := range []*shared.Result{job, tty} {
			assert.Equal(t, shared.StatusRunning, plugintest.Check(t, bash, shared.CheckRequest{PID: j.PID}).Status)
		}
		assert.Equal(t, plugin, bash.PluginPID())
	})
}

// By CLONE_PARENT a command makes its child one of the plugin, as it is itself.
func TestAChildThatIsGivenToThePlugin(t *testing.T) {
	t.Parallel()
	clone := "import time\nnumber = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n" +
		"def clone(): return libc.syscall(ctypes.c_long(number), ctypes.c_long(0x8000 | 17), 0, 0, 0, 0)\n"
	plugintest.EachUser(t, func(t *testing.T, y *plugintest.Yard) {
		t.Parallel()
		bash := y.Launch(t, nil)
		for _, confine := range []*shared.Confine{nil, {ReadOnly: true, BestEffort: true}} {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Confine: confine,
				Command: "exec " + plugintest.Python(t, clone+"if clone() == 0: os.execv('/bin/sleep', ['sleep', '1000'])\nprint('up', flush=True)")})
			require.Len(t, r.Leftover, 1, "%s", r)
			plugintest.Kill(t, bash, r.PID)
			plugintest.AwaitDeath(t, r.Leftover[0].PID)
			r = plugintest.Execute(t, bash, shared.ExecuteRequest{Confine: confine, Resources: shared.Resources{Processes: 20}, Timeout: plugintest.Hang, Mode: shared.ModeTerminate,
				Command: "exec " + plugintest.Python(t, clone+"for i in range(60):\n  if clone() == 0: time.sleep(1000)\ntime.sleep(1000)")})
			assert.Equal(t, shared.CauseProcesses, r.Cause, "%s", r)
			assert.Empty(t, r.Leftover)
		}
		plugintest.Eventually(t, "the end of zombies", func() bool {
			text := plugintest.Run(t, bash, "cat /proc/$PPID/task/*/children").Stdout.Content
			return len(strings.Fields(text)) <= 2 // the guardian, and this command's bash
		})
	})
}
