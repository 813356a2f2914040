package confinement

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// begin runs a command in the background, and returns its pid and the numbers that it prints
// in its first line.
func begin(t *testing.T, bash shared.Bash, req shared.ExecuteRequest) (pid int, printed []int) {
	t.Helper()
	req.Mode = shared.ModeBackground
	job := plugintest.Execute(t, bash, req)
	text := plugintest.AwaitText(t, bash, job.PID, "\n").Stdout.Content
	return job.PID, plugintest.Numbers(t, text)
}

// reaches asserts that a command can signal what number is of, a process or, negative, a
// process group.
func reaches(t *testing.T, bash shared.Bash, number int) {
	t.Helper()
	r := plugintest.Run(t, bash, fmt.Sprintf("kill -0 -- %d", number))
	assert.Equal(t, shared.StatusCompleted, r.Status, "%s", r)
}

// isKeptFrom asserts that a command cannot.
func isKeptFrom(t *testing.T, bash shared.Bash, number int, what string) {
	t.Helper()
	for _, signal := range []string{"-0", "-STOP", "-9"} {
		r := plugintest.Run(t, bash, fmt.Sprintf("kill %s -- %d", signal, number))
		assert.Contains(t, r.Stderr.Content, "Operation not permitted", "%s, %s: %s", what, signal, r)
	}
}

func TestConfinedCommandsSignalEachOther(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		for _, confine := range confines() {
			bash := y.Launch(t, confine)
			job, children := begin(t, bash, shared.ExecuteRequest{Command: "sleep 1001 & first=$!; sleep 1002 & echo $first $!; wait"})
			for _, number := range append(children, job, -job) {
				reaches(t, bash, number)
			}
			plugintest.Run(t, bash, fmt.Sprintf("(kill %d)", children[0]))
			plugintest.AwaitDeath(t, children[0])
			assert.True(t, plugintest.Alive(children[1]))
			r := plugintest.Run(t, bash, plugintest.Python(t, fmt.Sprintf(
				"for pid in (%d, -%d, 4194303):\n  try: os.kill(pid, 99)\n  except OSError as e: print(e.errno)", job, job)))
			assert.Equal(t, "22\n22\n3\n", r.Stdout.Content, "EINVAL, and ESRCH: %s", r)
			assert.Equal(t, "[no]\n", plugintest.Run(t, bash, fmt.Sprintf("kill -9 -%d && echo [no]", job)).Stdout.Content)
			plugintest.AwaitDeath(t, children[1], job)
			assert.Equal(t, "SIGKILL", plugintest.AwaitEnd(t, bash, job).Signal)
			plugintest.Says(t, plugintest.Run(t, bash, fmt.Sprintf("kill -9 -%d", job)), "No such process")

			// A handler runs, and the command goes on.
			job, _ = begin(t, bash, shared.ExecuteRequest{
				Command:   "trap 'echo got it' USR1; echo; while :; do sleep 0.01; done",
				Resources: shared.Resources{CPU: plugintest.Hang},
			})
			plugintest.Run(t, bash, fmt.Sprintf("kill -USR1 %d", job))
			plugintest.AwaitText(t, bash, job, "got it")

			// What a bash that has ended has left running, in its process group and in another.
			job, children = begin(t, bash, shared.ExecuteRequest{
				Command: `sleep 1001 & first=$!; setsid bash -c 'sleep 1002 & echo '$first' $! $$; sleep 1003' &`})
			plugintest.AwaitDeath(t, job)
			for _, number := range append(children, -job, -children[2]) {
				reaches(t, bash, number)
			}
			plugintest.Run(t, bash, fmt.Sprintf("kill -9 -%d", job))
			plugintest.AwaitDeath(t, children[0])
			assert.True(t, plugintest.Alive(children[1]))
			plugintest.Run(t, bash, fmt.Sprintf("kill -9 -%d", children[2]))
			plugintest.AwaitDeath(t, children[1:]...)
		}
	})
}

// program32 is a program that makes a system call of 32-bit programs with two arguments, and
// exits with the number of the error.
func program32(call, first, second int) []byte {
	number := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	program := bytes.Join([][]byte{
		int80[:0x78],
		[]byte("\xb8"), number(call), // mov eax, call
		[]byte("\xbb"), number(first), // mov ebx, first
		[]byte("\xb9"), number(second), // mov ecx, second
		[]byte("\xcd\x80\x89\xc7\xf7\xdf"),             // int 0x80; mov edi, eax; neg edi
		[]byte("\xb8"), number(60), []byte("\x0f\x05"), // mov eax, exit; syscall
	}, nil)
	for _, size := range []int{0x60, 0x68} { // of the segment, in the file and in memory
		binary.LittleEndian.PutUint64(program[size:], uint64(len(program)))
	}
	return program
}

func TestSignalsBy32BitPrograms(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("only x86-64 has int 0x80")
	}
	const kill = 37
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		exits := func(bash shared.Bash, pid int) int {
			path := filepath.Join(y.Inside, "kill32-"+strconv.Itoa(pid))
			require.NoError(t, os.WriteFile(path, program32(kill, pid, 9), 0o755))
			return plugintest.Run(t, bash, path).ExitCode
		}
		prey := victim(t, y)
		bash := y.Launch(t, &shared.Confine{ReadOnly: true})
		if exits(y.Launch(t, nil), prey) != 0 {
			t.Skip("the kernel has no system calls of 32-bit programs")
		}
		for _, sign := range []int{1, -1} {
			job, _ := begin(t, bash, shared.ExecuteRequest{Command: "echo; exec sleep 1000"})
			assert.Zero(t, exits(bash, sign*job))
			plugintest.AwaitDeath(t, job)
		}
		assert.Equal(t, 1, exits(bash, victim(t, y)), "EPERM")
	})
}

func TestSignalsReachNothingElse(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		free, bash := y.Launch(t, nil), y.Launch(t, &shared.Confine{ReadOnly: true})
		plugin := bash.PluginPID()
		job, printed := begin(t, bash, shared.ExecuteRequest{Command: "ulimit -S -x; exec sleep 1000"})
		prey, forged := victim(t, y), victim(t, y)
		r := plugintest.Run(t, free, fmt.Sprintf("prlimit --pid %d --locks=%d: && pgrep -P %d -f ^bash-guardian", forged, printed[0], plugin))
		require.Equal(t, shared.StatusCompleted, r.Status, "%s", r)
		victims := map[string]int{
			"the plugin": plugin, "the guardian": plugintest.Number(t, r.Stdout.Content), "the host": os.Getpid(),
			"a process": prey, "its group": -prey, "a process with a job's tag": forged, "its group, too": -forged,
		}
		for what, pid := range victims {
			isKeptFrom(t, bash, pid, what)
			if what != "the host" || y.UID == os.Getuid() {
				reaches(t, free, pid)
			}
		}
		other := y.Launch(t, &shared.Confine{ReadOnly: true})
		isKeptFrom(t, other, job, "a command of another plugin")
		reaches(t, bash, job)

		// A process that is restricted further does no more than the kernel lets it do.
		signal := fmt.Sprintf("os.kill(%d, 0)", job)
		filter := "program = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n" +
			"print(libc.prctl(22, 2, struct.pack('HP', 1, ctypes.addressof(program))))\n"
		plugintest.Says(t, plugintest.Run(t, bash, plugintest.Python(t, signal+"; print('done')")), "done")
		plugintest.Says(t, plugintest.Run(t, bash, plugintest.Python(t, filter+signal)), "0\n")
		plugintest.Says(t, plugintest.Run(t, bash, plugintest.Python(t, filter+signal)), "Operation not permitted")
		if y.UID == 0 {
			plugintest.Says(t, plugintest.Run(t, bash, plugintest.Python(t, "os.seteuid(65534); "+signal)), "Operation not permitted")
		}

		// What stands for many processes stands for the command's own.
		r = plugintest.Run(t, bash, "sleep 1000 & kill -9 -1; kill -9 0")
		assert.Equal(t, "SIGKILL", r.Signal, "%s", r)
		for _, left := range r.Leftover {
			plugintest.AwaitDeath(t, left.PID)
		}
		reaches(t, bash, job)
		assert.Equal(t, plugin, bash.PluginPID())
	})
}

func TestATighterRequestSignalsItselfAlone(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		for what, session := range map[string]*shared.Confine{"confined": {ReadOnly: true, Writable: []string{"."}}, "free": nil} {
			bash := y.Launch(t, session)
			loose, _ := begin(t, bash, shared.ExecuteRequest{Command: "echo; exec sleep 1000"})
			for _, tighter := range []shared.Confine{{ReadOnly: true}, {NoNetwork: true}, {Private: true}} {
				tight, _ := begin(t, bash, shared.ExecuteRequest{Command: "echo; exec sleep 1000", Confine: &tighter})
				for _, pid := range []int{loose, -loose, tight, -tight} {
					r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: fmt.Sprintf("kill -0 -- %d", pid), Confine: &tighter})
					assert.Contains(t, r.Stderr.Content, "Operation not permitted", what)
				}
				r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "sleep 1000 & kill $! && kill -0 $$ && echo own", Confine: &tighter})
				plugintest.Says(t, r, "own")
				reaches(t, bash, tight)
			}
		}
	})
}

// A number that a command in a namespace of its own says is not that of the plugin's process.
func TestPidsOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{NoNetwork: true})
		job, _ := begin(t, bash, shared.ExecuteRequest{Command: "echo; exec sleep 1000"})
		r := plugintest.Run(t, bash, fmt.Sprintf("unshare -Urpf --kill-child bash -c 'echo pid $$; kill -9 %d; kill -9 -%d'", job, job))
		if !strings.Contains(r.Stdout.Content, "pid 1\n") {
			t.Skipf("this system does not permit PID namespaces: %s", r.Stderr.Content)
		}
		assert.Equal(t, 2, strings.Count(r.Stderr.Content, "No such process"), "%s", r)
		reaches(t, bash, job)

		// From outside, its processes are like any other's.
		job, _ = begin(t, bash, shared.ExecuteRequest{Command: "unshare -Urpf --kill-child bash -c 'echo; sleep 1000'"})
		inner := plugintest.Number(t, plugintest.Run(t, bash, fmt.Sprintf("pgrep -P %d", job)).Stdout.Content)
		reaches(t, bash, inner)
		plugintest.Run(t, bash, fmt.Sprintf("kill -9 %d", inner))
		plugintest.AwaitDeath(t, inner)
	})
}

func TestFloodsOfSignals(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true})
		plugin := bash.PluginPID()
		job, _ := begin(t, bash, shared.ExecuteRequest{Command: "echo; exec sleep 1000"})
		var floods []int
		for _, flood := range []string{
			"kill -0 $V",
			"kill -0 -$V",
			"kill -9 $PPID; kill -9 -$PPID; kill -9 4194303",
			"(while :; do kill -0 $V; done) & kill -STOP $!; kill -0 $V; kill -CONT $!; kill -9 $!; wait $!",
		} {
			pid, _ := begin(t, bash, shared.ExecuteRequest{
				Command: "exec 2>/dev/null; echo; while :; do " + flood + "; done", Env: []string{"V=" + strconv.Itoa(job)}})
			floods = append(floods, pid)
		}
		for range 50 {
			r := plugintest.Run(t, bash, fmt.Sprintf("kill -0 %d && kill -0 -%d && kill -0 $$ && echo on", job, job))
			assert.Equal(t, "on\n", r.Stdout.Content, "%s", r)
		}
		for _, pid := range floods {
			assert.Equal(t, shared.StatusRunning, plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Status)
		}
		plugintest.Kill(t, bash, floods[0])
		assert.Equal(t, plugin, bash.PluginPID())
		reaches(t, bash, job)

		// Calls that wait for a plugin that is killed keep nothing alive.
		require.NoError(t, syscall.Kill(plugin, syscall.SIGKILL))
		plugintest.AwaitDeath(t, append(floods, job)...)
	})
}
