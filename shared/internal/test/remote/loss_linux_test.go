package remote

import (
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// network is a real link between this machine and a plugin in a network namespace of
// its own.
type network struct {
	plugin    *remotePlugin
	link      string // on this side
	here, ips string // the addresses of this side, and of the plugin
}

var networks atomic.Int64

// newNetwork starts a plugin behind a link.
func newNetwork(t *testing.T) *network {
	t.Helper()
	if out, err := exec.Command("unshare", "-n", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1").CombinedOutput(); err != nil {
		t.Skipf("this system does not permit network namespaces with iproute2: %v %s", err, out)
	}
	number := networks.Add(1)
	n := &network{
		plugin: serveRemote(t, []string{"-listen", "0.0.0.0:7001"}, "unshare", "-n"),
		link:   fmt.Sprintf("bp%d-%d", syscall.Getpid()%1000000, number),
		here:   fmt.Sprintf("10.213.%d.1", number), ips: fmt.Sprintf("10.213.%d.2", number),
	}
	n.plugin.address = n.ips + ":7001"
	pid := fmt.Sprint(n.plugin.cmd.Process.Pid)
	n.ip(t, false, "link add "+n.link+" type veth peer name v1 netns "+pid)
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", n.link).Run() })
	n.ip(t, false, "addr add "+n.here+"/24 dev "+n.link)
	n.ip(t, true, "addr add "+n.ips+"/24 dev v1")
	n.ip(t, false, "link set "+n.link+" up")
	n.ip(t, true, "link set v1 up")
	n.partition(t, false)
	return n
}

// ip runs ip, on this side or on the plugin's.
func (n *network) ip(t *testing.T, there bool, args string) string {
	t.Helper()
	command := append([]string{"ip"}, strings.Fields(args)...)
	if there {
		command = append([]string{"nsenter", "-n", "-t", fmt.Sprint(n.plugin.cmd.Process.Pid)}, command...)
	}
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
	return string(out)
}

// mac returns the address of a link's card.
func (n *network) mac(t *testing.T, there bool, link string) string {
	t.Helper()
	_, rest, _ := strings.Cut(n.ip(t, there, "-o link show "+link), "link/ether ")
	mac, _, _ := strings.Cut(rest, " ")
	return mac
}

// partition makes every packet, in both directions, go to a card that does not exist, or
// ends that. Neither side is told.
func (n *network) partition(t *testing.T, lost bool) {
	t.Helper()
	here, there := n.mac(t, false, n.link), n.mac(t, true, "v1")
	if lost {
		here, there = "02:00:00:00:00:01", "02:00:00:00:00:02"
	}
	n.ip(t, false, "neigh replace "+n.ips+" lladdr "+there+" dev "+n.link+" nud permanent")
	n.ip(t, true, "neigh replace "+n.here+" lladdr "+here+" dev v1 nud permanent")
}

func (n *network) connect(t *testing.T, linger time.Duration) *host.Client {
	t.Helper()
	cfg := n.plugin.config(t)
	cfg.TLS.ServerName, cfg.Linger = "plugin.test", linger
	return connectWith(t, cfg)
}

// While no packet gets through, a call waits. Its result comes when they do.
func TestAPartition(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	bash := n.connect(t, plugintest.Hang)
	g := plugintest.NewGate(t)
	var live plugintest.Buffer
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo before; " + g.Wait() + "; seq 100000", Stdout: &live, Lossless: true})
	plugintest.Eventually(t, "the first line", func() bool { return live.String() == "before\n" })
	n.partition(t, true)
	g.Open(t)
	select {
	case <-call:
		require.FailNow(t, "the packets get through")
	case <-time.After(time.Second):
	}
	n.partition(t, false)
	out := plugintest.Await(t, call)
	require.NoError(t, out.Err)
	plugintest.Eventually(t, "the live copy", func() bool { return int64(len(live.String())) == out.Result.Stdout.TotalBytes })
}

// Both sides notice a peer that does not answer any more, without an end of the
// connection: in 13 s, or a little more.
func TestADeadPeerIsNoticed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	busy, idle := n.connect(t, 0), n.connect(t, 0)
	pids := t.TempDir() + "/pids"
	calls := []<-chan plugintest.Outcome{
		plugintest.StartExecute(t.Context(), busy, shared.ExecuteRequest{Command: "yes", Stdout: &discarder{}, Lossless: true}),
		plugintest.StartExecute(t.Context(), idle, shared.ExecuteRequest{Command: "export pids=" + pids + "; " + plugintest.HardToEnd + plugintest.Forever}),
	}
	left := plugintest.Numbers(t, plugintest.AwaitFile(t, pids))
	n.partition(t, true)
	begin := time.Now()
	for _, call := range calls {
		require.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
	}
	assert.Less(t, time.Since(begin), 40*time.Second)
	plugintest.AwaitDeath(t, left...)
	n.partition(t, false)
	assert.Equal(t, "on\n", plugintest.Run(t, idle, "echo on").Stdout.Content)
}

// A link that loses packets all the time costs time, and nothing else.
func TestALossyLink(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	bash := n.connect(t, plugintest.Hang)
	var live plugintest.Buffer
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "seq 500000", Stdout: &live, Lossless: true})
	for range 5 {
		n.partition(t, true)
		n.partition(t, false)
	}
	out := plugintest.Await(t, call)
	require.NoError(t, out.Err)
	assert.Zero(t, out.Result.Stdout.LiveSkipped)
	plugintest.Eventually(t, "the live copy", func() bool { return int64(len(live.String())) == out.Result.Stdout.TotalBytes })
	assert.True(t, strings.HasSuffix(live.String(), "499999\n500000\n"))
}

// A plugin that is killed while nobody can see that is noticed once the link is back.
func TestAPluginEndsBehindAPartition(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	bash := n.connect(t, 2*time.Second)
	begun := t.TempDir() + "/begun"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo >" + begun + "; " + plugintest.Forever})
	plugintest.AwaitFile(t, begun)
	keeper := exec.Command("nsenter", "-n", "-t", fmt.Sprint(n.plugin.cmd.Process.Pid), "sleep", "1000") // keeps the namespace
	require.NoError(t, keeper.Start())
	defer func() { _ = keeper.Process.Kill(); _ = keeper.Wait() }()
	plugintest.Eventually(t, "its namespace", func() bool {
		out, err := exec.Command("nsenter", "-n", "-t", fmt.Sprint(keeper.Process.Pid), "ip", "link", "show", "v1").CombinedOutput()
		return err == nil && strings.Contains(string(out), "v1")
	})
	n.partition(t, true)
	n.plugin.signal(t, syscall.SIGKILL)
	plugintest.Await(t, n.plugin.ended)
	n.plugin.cmd = keeper // whose namespace it is
	n.partition(t, false)
	require.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
}

// discarder takes everything.
type discarder struct{}

func (*discarder) Write(p []byte) (int, error) { return len(p), nil }
