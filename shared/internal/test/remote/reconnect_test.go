//go:build unix

package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// cable is a network between hosts and a plugin that can be cut.
type cable struct {
	address string // where hosts connect

	mu    sync.Mutex // guards the fields below
	to    string     // where it leads
	cut   bool       // nobody gets through
	conns []net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{address: listener.Addr().String(), to: to}
	t.Cleanup(func() { listener.Close(); c.set(true) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.join(conn)
		}
	}()
	return c
}

func (c *cable) join(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there, err := net.Dial("tcp", c.to)
	if c.cut || err != nil {
		conn.Close()
		return
	}
	c.conns = append(c.conns, conn, there)
	for _, way := range [][2]net.Conn{{conn, there}, {there, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			way[0].Close()
		}()
	}
}

// set ends every connection, with what is on its way. No other is possible while it is cut.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	c.conns = nil
}

// overCable connects a host that lingers.
func overCable(t *testing.T, p *remotePlugin, linger time.Duration) (*host.Client, *cable) {
	t.Helper()
	c := newCable(t, p.address)
	cfg := p.config(t)
	cfg.Address, cfg.Linger = c.address, linger
	return connectWith(t, cfg), c
}

// What is under way when the connection is lost goes on over the next one.
func TestALostConnectionLosesNothing(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	bash, c := overCable(t, p, plugintest.Hang)
	g, runs := plugintest.NewGate(t), t.TempDir()+"/runs"
	var live, jobs plugintest.Buffer
	job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo job; " + g.Wait() + "; echo goes on", Mode: shared.ModeBackground, Stdout: &jobs})
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo x >>" + runs + "; echo before; " + g.Wait() + "; echo after", Stdout: &live, Lossless: true})
	waiting := plugintest.Start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: job.PID, Wait: plugintest.Hang})
	})
	plugintest.Eventually(t, "the first line", func() bool { return live.String() == "before\n" && jobs.String() == "job\n" })
	c.set(true)
	g.Open(t)
	g.Open(t)
	late := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo x >>" + runs + "; echo late"})
	ctx, cancel := plugintest.Cancelable(t)
	given := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: "echo never >>" + runs})
	cancel()
	require.ErrorIs(t, plugintest.Await(t, given).Err, context.Canceled, "a call that is given up does not wait")
	c.set(false)
	out := plugintest.Await(t, call)
	require.NoError(t, out.Err)
	assert.Equal(t, "before\nafter\n", out.Result.Stdout.Content)
	assert.Equal(t, "before\nafter\n", live.String())
	out = plugintest.Await(t, late)
	require.NoError(t, out.Err)
	assert.Equal(t, "late\n", out.Result.Stdout.Content)
	out = plugintest.Await(t, waiting)
	require.NoError(t, out.Err)
	assert.Equal(t, "job\ngoes on\n", out.Result.Stdout.Content)
	plugintest.Eventually(t, "the job's live copy", func() bool { return jobs.String() == "job\ngoes on\n" })
	assert.Equal(t, "x\nx\n", plugintest.ReadFile(t, runs), "nothing runs twice, and nothing that was given up")
	require.NoError(t, bash.Close())
}

// However often the connection is lost: each command runs once, and each byte comes once.
func TestAConnectionIsLostAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	bash, c := overCable(t, p, plugintest.Hang)
	done, runs := make(chan struct{}), t.TempDir()
	var cutter, calls sync.WaitGroup
	cutter.Go(func() {
		for n := range 25 {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(10+n%7*20) * time.Millisecond):
				c.set(false)
			}
		}
	})
	want := new(strings.Builder)
	for i := range 400000 {
		fmt.Fprintln(want, i+1)
	}
	for i := range 4 {
		calls.Go(func() {
			var live plugintest.Buffer
			r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "for i in {0..9}; do seq $((i*40000+1)) $((i*40000+40000)); sleep 0.05; done", Stdout: &live, Lossless: true})
			if assert.NoError(t, err) {
				assert.Zero(t, r.Stdout.LiveSkipped)
				assert.Equal(t, int64(want.Len()), r.Stdout.TotalBytes)
				plugintest.Eventually(t, "the rest", func() bool { return len(live.String()) >= want.Len() })
				assert.True(t, live.String() == want.String(), "the live copy is another")
			}
		})
		calls.Go(func() {
			for n := range 20 {
				word := fmt.Sprintf("%d-%d", i, n)
				r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "echo " + word + " | tee -a " + runs + "/" + word})
				if assert.NoError(t, err) {
					assert.Equal(t, word+"\n", r.Stdout.Content)
					assert.Equal(t, word+"\n", plugintest.ReadFile(t, runs+"/"+word))
				}
			}
		})
	}
	calls.Wait()
	close(done)
	cutter.Wait()
	entries, err := os.ReadDir(runs)
	require.NoError(t, err)
	assert.Len(t, entries, 80)
	assert.Greater(t, strings.Count(p.said(), "a host has connected"), 3)
}

// After Linger the calls fail, the plugin ends the session's processes by itself, and
// the next call begins another session.
func TestAConnectionThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	bash, c := overCable(t, p, 300*time.Millisecond)
	pids := t.TempDir() + "/pids"
	job := plugintest.Background(t, bash, "export pids="+pids+"; "+plugintest.HardToEnd+plugintest.Forever)
	left := plugintest.Numbers(t, plugintest.AwaitFile(t, pids))
	call := plugintest.Start(func() (*shared.Result, error) {
		return bash.Check(t.Context(), shared.CheckRequest{PID: job.PID, Wait: plugintest.Hang})
	})
	c.set(true)
	require.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
	plugintest.AwaitDeath(t, left...)
	c.set(false)
	_, err := bash.Check(t.Context(), shared.CheckRequest{PID: job.PID})
	require.ErrorIs(t, err, shared.ErrNotFound)
	require.ErrorIs(t, err, shared.ErrCrashed)
	assert.Equal(t, "on\n", plugintest.Run(t, bash, "echo on").Stdout.Content)
}

// Another plugin at the same address knows nothing of the session: no call is sent to it
// again that may have run.
func TestARestartOfThePluginIsACrash(t *testing.T) {
	t.Parallel()
	p, other := serveRemote(t, nil), serveRemote(t, nil)
	for _, name := range []string{"plugin.pem", "plugin-key.pem", "ca.pem"} { // of one CA
		writeFile(t, other.certs+"/"+name, plugintest.ReadFile(t, p.certs+"/"+name))
	}
	other.reload(t)
	bash, c := overCable(t, p, plugintest.Hang)
	runs := t.TempDir() + "/runs"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo x >>" + runs + "; " + plugintest.Forever})
	plugintest.AwaitFile(t, runs)
	c.mu.Lock()
	c.to = other.address
	c.mu.Unlock()
	c.set(false)
	require.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
	assert.Equal(t, "on\n", plugintest.Run(t, bash, "echo on").Stdout.Content)
	assert.Equal(t, "x\n", plugintest.ReadFile(t, runs))
}

// A plugin allows no longer Linger than its flag says.
func TestLingerIsAtMostWhatThePluginAllows(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, []string{"-max-linger", "0"})
	bash, c := overCable(t, p, plugintest.Hang)
	begun := t.TempDir() + "/begun"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo >" + begun + "; " + plugintest.Forever})
	plugintest.AwaitFile(t, begun)
	c.set(false)
	require.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
}

// Close without a connection says what it cannot do, and the session ends after Linger.
func TestCloseWithoutAConnection(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	bash, c := overCable(t, p, 5*time.Second)
	pids := t.TempDir() + "/pids"
	plugintest.Background(t, bash, "export pids="+pids+"; "+plugintest.HardToEnd+plugintest.Forever)
	left := plugintest.Numbers(t, plugintest.AwaitFile(t, pids))
	c.set(true)
	err := bash.Close()
	require.ErrorIs(t, err, shared.ErrCrashed)
	assert.Contains(t, err.Error(), "after Linger")
	plugintest.AwaitDeath(t, left...)
}

// reload makes the plugin read its certificates again.
func (p *remotePlugin) reload(t *testing.T) {
	t.Helper()
	p.signal(t, 1)
	plugintest.Eventually(t, "the new certificates", func() bool { return strings.Contains(p.said(), "has read the certificates again\n") })
}
