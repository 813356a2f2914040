package contract

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// silentServer accepts connections and says nothing.
func silentServer(t *testing.T) (host, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	host, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return host, port
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	plugintest.EachUser(t, testWaiting)
}

func testWaiting(t *testing.T, y *plugintest.Yard) {
	t.Parallel()
	dir, bash := y.Inside, y.Launch(t, nil)
	host, port := silentServer(t)
	lock := filepath.Join(dir, "lock")
	holder := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "flock lock bash -c 'echo held; sleep 1000'", Mode: shared.ModeBackground})
	plugintest.AwaitText(t, bash, holder.PID, "held")
	hold := "import fcntl,sys; f=open('lock2','w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); "
	holder = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: `/usr/bin/python3 -c "` + hold + `sys.stdin.read()"`, Mode: shared.ModeBackground, Stdin: shared.StdinPipe})
	plugintest.AwaitText(t, bash, holder.PID, "held")
	for name, c := range map[string]struct {
		command string
		stdin   shared.Stdin
		want    string
	}{
		"cat":                  {"cat", shared.StdinPipe, "input"},
		"read":                 {"read -r line", shared.StdinPipe, "input"},
		"read at a terminal":   {"read -rsp 'Password: ' line", shared.StdinTTY, "input"},
		"read of /dev/tty":     {"exec <&-; read -r line </dev/tty", shared.StdinTTY, "input"},
		"python3":              {"/usr/bin/python3", shared.StdinTTY, "input"},
		"bash -i":              {"bash --norc -i", shared.StdinTTY, "input"},
		"less":                 {"less /etc/services /etc/passwd", shared.StdinTTY, "input"},
		"a pipeline":           {"cat | sort", shared.StdinPipe, "input"},
		"a child":              {"sleep 1000; true", shared.StdinNone, "child"},
		"a child, open stdin":  {"sleep 1000 | cat; true", shared.StdinPipe, "child"},
		"flock":                {"flock lock true", shared.StdinNone, "lock " + lock},
		"fcntl":                {`/usr/bin/python3 -c "` + hold + `"`, shared.StdinNone, "lock " + lock + "2"},
		"a relay with a child": {"script -qc 'sleep 1000' /dev/null", shared.StdinPipe, "child"},
		"and a terminal":       {"script -qc 'sleep 1000' /dev/null; true", shared.StdinTTY, "child"},
		"/dev/tcp":             {"read -r line </dev/tcp/" + host + "/" + port, shared.StdinNone, "network " + host + ":" + port},
		"python3 with timeout": {`/usr/bin/python3 -c "import socket; socket.create_connection(('` + host + `', ` + port + `), 1000).recv(1)"`, shared.StdinNone, "network " + host + ":" + port},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, _, _ := strings.Cut(c.command, " ")
			if _, err := exec.LookPath(program); err != nil && (program == "less" || program == "script" || program[0] == '/') {
				t.Skip(program, "is not installed")
			}
			for _, confined := range []*shared.Confine{nil, {ReadOnly: true, Writable: []string{dir}, BestEffort: true}} {
				if program == "script" && confined != nil {
					continue // it cannot make a terminal
				}
				req := shared.ExecuteRequest{Command: c.command, Stdin: c.stdin, Mode: shared.ModeBackground, Confine: confined}
				pid := plugintest.Execute(t, bash, req).PID
				var r *shared.Result
				plugintest.Eventually(t, c.want, func() bool {
					r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid})
					return r.Waiting == c.want || r.Status != shared.StatusRunning
				})
				assert.Equal(t, c.want, r.Waiting, "%v", r)
				plugintest.Kill(t, bash, pid)
			}
		})
	}
	// Of these nothing can be told, however often one looks.
	for name, command := range map[string]string{
		"a busy loop": "echo up; while :; do :; done", "sleep": "echo up; exec sleep 1000", "a fifo": "mkfifo fifo; echo up; read -r line <fifo",
		"a server": `exec /usr/bin/python3 -u -c "import socket; s=socket.create_server(('127.0.0.1', 0)); print('up'); s.accept()"`,
		"a relay":  `exec /usr/bin/python3 -u -c "import select, socket; a, b = socket.socketpair(); print('up'); select.select([0, a], [], [])"`,
		"stopped":  "echo up; kill -STOP $$; read -r line",
		"many":     "for i in {1..70}; do sleep 1000 & done; echo up; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground, Stdin: shared.StdinPipe}).PID
			plugintest.AwaitText(t, bash, pid, "up")
			for range 50 {
				require.Empty(t, plugintest.Check(t, bash, shared.CheckRequest{PID: pid}).Waiting)
			}
			r := plugintest.Kill(t, bash, pid)
			assert.Empty(t, r.Waiting)
		})
	}
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "cat", Stdin: shared.StdinPipe, Timeout: plugintest.Soon})
	assert.Equal(t, "input", r.Waiting, "Execute says it too at its timeout")
}
