package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// What processes are called, and what they have opened, makes no call on them long.
func TestProcessesThatMakeCallsLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ plain, hostile string }{
		"long arguments": {
			"for i in {1..100}; do sleep 1000 & done; echo up",
			"x=$(printf %0100000d 0); for i in {1..50}; do bash -c 'read <&0' x $x $x $x $x $x $x $x $x $x $x < <(exec sleep 1000) & done; echo up",
		},
		"no arguments": {
			"for i in {1..100}; do sleep 1000 & done; echo up",
			plugintest.Python(t, "import time\na, b = os.pipe(); os.dup2(a, 0)\nfor i in range(100):\n  if os.fork() == 0: os.set_inheritable(b, True); libc.execv(b'/bin/cat', (ctypes.c_char_p * 2)(b'', None))\nprint('up', flush=True)"),
		},
		"many sockets": {
			"for i in {1..20}; do sleep 1000 & done; echo up; wait",
			plugintest.Python(t, `
import select, time, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
sockets = [socket.create_server(("127.0.0.1", 0)) for i in range(3000)]
for i in range(20):
    if os.fork() == 0: poll = select.poll(); [poll.register(s) for s in sockets[:60]]; poll.poll()
print("up", flush=True); time.sleep(1000)`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			bash := plugintest.Launch(t)
			look := func(command string) (time.Duration, *shared.Result) {
				pid := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground}).PID
				plugintest.AwaitText(t, bash, pid, "up")
				var r *shared.Result
				took := median(func() { r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid}) })
				return took, r
			}
			plain, _ := look(c.plain)
			hostile, r := look(c.hostile)
			t.Logf("a Check takes %v, beside ordinary processes %v", hostile, plain)
			assert.Less(t, hostile, 10*plain+100*time.Millisecond)
			for _, p := range plugintest.Kill(t, bash, r.PID).Ended {
				require.LessOrEqual(t, len(p.Command), 4<<10)
			}
		})
	}
}

// A command that is too long for an argument comes in a file that no other command can open.
func TestALongCommandHasNoName(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}})
	watcher := plugintest.Background(t, bash, "echo up; while :; do for f in "+temp+"/bash-plugin-[!r]*; do test -e $f && echo found; done; done")
	plugintest.AwaitText(t, bash, watcher.PID, "up")
	for range 20 {
		r := plugintest.Run(t, bash, ": "+strings.Repeat("x", 200<<10)+"\necho $$")
		assert.Equal(t, fmt.Sprintln(r.PID), r.Stdout.Content)
	}
	assert.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: watcher.PID}).Stdout.Content)
}
