//go:build unix

package remote

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// The kernel of a stopped plugin answers for it. All the same its hosts notice.
func TestAStoppedPluginIsNoticed(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	cfg := p.config(t)
	cfg.Linger = time.Second
	bash := connectWith(t, cfg)
	began := t.TempDir() + "/began"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo >" + began + "; exec sleep 1000"})
	plugintest.AwaitFile(t, began)
	p.signal(t, syscall.SIGSTOP)
	defer p.signal(t, syscall.SIGCONT)
	assert.ErrorIs(t, plugintest.Await(t, call).Err, shared.ErrCrashed)
}

// A call whose context ends while the connection is lost says so.
func TestACallSaysThatTheConnectionIsAway(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	bash, c := overCable(t, p, time.Hour)
	plugintest.Run(t, bash, "true")
	c.set(true)
	ctx, cancel := context.WithTimeout(t.Context(), plugintest.Soon)
	defer cancel()
	file := t.TempDir() + "/ran"
	_, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "touch " + file})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Contains(t, err.Error(), "the connection to the plugin has been lost since")
	c.set(false)
	plugintest.Run(t, bash, "true")
	assert.NoFileExists(t, file, "what was given up does not run later")
}

// Connections that say nothing keep nobody out, and take no descriptors from commands.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil, "prlimit", "--nofile=256:256")
	for range 300 {
		for _, address := range []string{p.address, p.health} {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			defer conn.Close()
		}
	}
	bash := p.connect(t)
	for range 10 {
		assert.Equal(t, "on\n", plugintest.Run(t, bash, "echo on").Stdout.Content)
	}
	answer, err := http.Get("http://" + p.health + "/healthz")
	require.NoError(t, err)
	answer.Body.Close()
	assert.Equal(t, http.StatusOK, answer.StatusCode)
}

// Many hosts may connect at once.
func TestManyHostsAtOnce(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	var hosts sync.WaitGroup
	for range 150 {
		hosts.Go(func() {
			bash, err := host.Connect(t.Context(), p.config(t))
			if assert.NoError(t, err) {
				bash.Close()
			}
		})
	}
	hosts.Wait()
}

// A planned end says why, at once, and not after Linger.
func TestAPlannedEndSaysWhy(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, []string{"-drain", "1h"})
	cfg := p.config(t)
	cfg.Linger = time.Hour
	bash, idle := connectWith(t, cfg), connectWith(t, cfg)
	began := t.TempDir() + "/began"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo >" + began + "; exec sleep 1000"})
	plugintest.AwaitFile(t, began)
	p.signal(t, syscall.SIGTERM)
	plugintest.Await(t, bash.Draining())
	plugintest.Await(t, idle.Draining())
	p.signal(t, syscall.SIGTERM) // the drain has no more patience
	out := plugintest.Await(t, call)
	if out.Err == nil {
		assert.Equal(t, shared.CauseClose, out.Result.Cause)
	} else {
		require.ErrorIs(t, out.Err, shared.ErrCrashed)
		assert.Contains(t, out.Err.Error(), "the plugin has ended the session: it is being stopped")
	}
	plugintest.Await(t, p.ended)
	_, err := idle.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	require.ErrorIs(t, err, shared.ErrStart, "the next call looks for another instance at once")
	assert.True(t, strings.Contains(err.Error(), "refused"), err.Error())
}
