package process_test

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trees are ways to start processes, with how many tell their pid. A process
// that gets away from the process group needs Linux.
var trees = []struct {
	name  string
	text  string
	n     int
	linux bool // what is needed for all to be found
}{
	{"one process", `exec bash -c "$p"`, 1, false},
	{"child", `bash -c "$p"; :`, 1, false},
	{"children", `for i in 1 2 3 4 5; do bash -c "$p" & done; wait`, 5, false},
	{"grandchildren", `bash -c "bash -c '$p' & bash -c '$p' & wait" & wait`, 2, false},
	{"pipeline", `bash -c "$p" | bash -c "$p" | bash -c "$p"`, 3, false},
	{"process substitution", `cat <(bash -c "$p")`, 1, false},
	{"command substitution", `x=$(bash -c "$p")`, 1, false},
	{"left in the background", `bash -c "$p" &`, 1, false},
	{"redirected", `bash -c "$p" </dev/null >/dev/null 2>&1 &`, 1, false},
	{"disowned", `bash -c "$p" & disown -a; exit 0`, 1, false},
	{"nohup", `nohup bash -c "$p" >/dev/null 2>&1 & exit 3`, 1, false},
	{"ignores TERM", `trap '' TERM HUP INT; bash -c "$p" & bash -c "$p"; :`, 2, false},
	{"stopped", `bash -c 'echo $$ >&3; kill -STOP $$; sleep 1000'; :`, 1, false},
	{"stopped leader", `bash -c "$p" & kill -STOP $$; wait`, 1, false},
	{"exec over the leader", `bash -c "$p" & exec sleep 1000`, 1, false},
	{"own process group", `set -m; bash -c "$p" & bash -c "$p" & wait`, 2, true},
	{"own process group, leader gone", `set -m; bash -c "$p" & exit`, 1, true},
	{"setsid", `setsid bash -c "$p"`, 1, true},
	{"setsid, leader gone", `setsid bash -c "$p" &`, 1, true},
	{"setsid twice", `setsid setsid -f bash -c "$p" & exit`, 1, true},
	{"double fork", `(bash -c "$p" &); sleep 1000`, 1, true},
	{"daemon", `(setsid bash -c "$p" </dev/null >/dev/null 2>&1 &); exit`, 1, true},
	{"cleared environment", `env -i /bin/bash -c "$p"`, 1, true},
	{"cleared environment, setsid", `env -i setsid bash -c "$p"; :`, 1, true},
	{"cleared environment, daemon", `(env -i setsid bash -c "$p" </dev/null >/dev/null 2>&1 &); sleep 1000`, 1, true},
	{"first thread gone", `(PROCESS_TEST_HEADLESS=1 setsid $program &); sleep 1000`, 1, true},
	{"first thread gone, bash gone", `(PROCESS_TEST_HEADLESS=1 setsid $program &)`, 1, true},
	{"everything at once", `for i in 1 2 3; do (env -i setsid nohup bash -c "trap '' TERM; set -m; bash -c '$p' & bash -c '$p'" >/dev/null 2>&1 &); done; exit`, 6, true},
}

// endings are the ways in which trees end.
var endings = []struct {
	name  string
	sig   syscall.Signal
	grace time.Duration
}{
	{"KILL", syscall.SIGKILL, 0},
	{"TERM", syscall.SIGTERM, 50 * time.Millisecond},
}

func TestEndEndsWholeTrees(t *testing.T) {
	for _, tree := range trees {
		for _, ending := range endings {
			t.Run(tree.name+"/"+ending.name, func(t *testing.T) {
				t.Parallel()
				if tree.linux && runtime.GOOS != "linux" {
					t.Skip("a process that leaves its group is found on Linux alone")
				}
				c := start(t, tree.text)
				pids := append(c.pids(tree.n), c.PID)
				require.True(t, c.End(ending.sig, ending.grace))
				require.Empty(t, living(pids), "alive after End")
				closed(t, "the group is gone", c.Gone())
				closed(t, "the leader has ended", c.Exited())
				require.Empty(t, c.Members())
				c.silent()
			})
		}
	}
}

// forkers are trees that do not hold still; each tells one pid when it is up.
var forkers = map[string]string{
	// Each process starts the next one and ends: none lives for long.
	"relay": `hop() { [ $SECONDS -lt 30 ] && (hop &); }; echo $$ >&3; hop; exec sleep 1000`,
	// The same, with a new session and no environment each time.
	"relay of daemons": `export hop='[ $(($(date +%s) - start)) -lt 30 ] && (env -i start=$start hop="$hop" setsid bash -c "$hop" &)'
		export start=$(date +%s); bash -c "$hop"; echo $$ >&3; exec sleep 1000`,
	// Each process stays and starts more, up to a bound.
	"bomb":            `for i in {1..10}; do (for j in {1..10}; do (trap '' TERM; exec sleep 1000) & done; sleep 1000) & done; echo $$ >&3; wait`,
	"forks when told": `trap 'for i in 1 2 3; do (trap "" TERM; sleep 1000) & done' TERM; echo $$ >&3; while :; do sleep 0.01; done`,
	"answers TERM by leaving": `for i in {1..5}; do
		bash -c 'trap "setsid sleep 1000 & exit" TERM; echo $$ >&3; while :; do sleep 0.01; done' & done; wait`,
}

func TestEndBeatsForks(t *testing.T) {
	for name, text := range forkers {
		for _, ending := range endings {
			t.Run(name+"/"+ending.name, func(t *testing.T) {
				t.Parallel()
				c := start(t, text)
				c.pids(1)
				require.True(t, c.End(ending.sig, ending.grace))
				c.silent()
			})
		}
	}
}

// The orderly end of a plugin that has many commands: Close ends them.
func TestCloseEndsSeveral(t *testing.T) {
	t.Parallel()
	d, n := doom{}, 0
	for _, tree := range trees {
		if !tree.linux || runtime.GOOS == "linux" {
			d.Commands = append(d.Commands, tree.text)
			n += tree.n
		}
	}
	p := startDoomed(t, d)
	pids := p.pids(n)
	require.NoError(t, p.stdin.Close())
	require.NoError(t, p.cmd.Wait(), "Close says that nothing is left")
	require.Empty(t, living(pids))
	p.silent()
	require.Empty(t, p.guardianEnds())
}

func TestPortIsFreeAfterEnd(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	listener.Close()

	// A daemon that holds the listening socket.
	c := startWith(t, `(setsid sleep 1000 & setsid sleep 1000 &); exec sleep 1000`, socket)
	socket.Close()
	_, err = net.Listen("tcp", address)
	require.Error(t, err, "the command listens")
	eventually(t, "two daemons and bash", func() bool { return len(c.Members()) == 3 })
	require.True(t, c.End(syscall.SIGTERM, time.Second))
	listener, err = net.Listen("tcp", address)
	require.NoError(t, err, "the port is free once End has returned")
	listener.Close()
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"exit 0":                            "0 0",
		"exit 7":                            "7 0",
		"kill -KILL $$":                     "137 9",
		"kill -TERM $$":                     "143 15",
		"kill -SEGV $$":                     "139 11",
		"(kill -KILL $BASHPID)":             "137 0",
		"no-such-command 2>/dev/null":       "127 0",
		"(sleep 1000 &); exit 5":            "5 0",
		"sleep 1000 & disown; kill -INT $$": "130 2",
	} {
		c := start(t, text)
		closed(t, text, c.Exited())
		require.Equal(t, want, fmt.Sprintf("%d %d", c.Status().Code, c.Status().Signal), text)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	for _, change := range []string{"path", "dir"} {
		s := spec("exit 0", null, null)
		if change == "path" {
			s.Path = "/no/such/bash"
		} else {
			s.Dir = "/no/such/directory"
		}
		_, err := table().Start(s)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}
