//go:build unix

package faults

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// listDescriptors prints bash's descriptors, but for the one that listing
// takes.
const listDescriptors = "for fd in /proc/$$/fd/*; do [ -e $fd ] && echo ${fd##*/}; done"

// A host that leaks descriptors does not leak them into commands.
func TestFaultLeakedDescriptors(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	long := "; : " + strings.Repeat("x", 200<<10) // too long for an argument
	h := startFaultHost(t, faultHostOrders{Leak: true, Commands: []string{
		"{ " + listDescriptors + "; } >" + out + ".short; echo >>" + out + ".short",
		"{ " + listDescriptors + "; } >" + out + ".long; echo >>" + out + ".long" + long,
	}})
	for _, kind := range []string{".short", ".long"} {
		plugintest.Eventually(t, "the list", func() bool {
			text, _ := os.ReadFile(out + kind)
			return strings.HasSuffix(string(text), "\n\n")
		})
		assert.Equal(t, "0\n1\n10\n2\n\n", plugintest.ReadFile(t, out+kind), "10 is bash's own, for the redirection")
	}
	h.tell("close")
}

func TestFaultDescriptorsAreThree(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	assert.Equal(t, "0\n1\n2\n", plugintest.Run(t, bash, listDescriptors).Stdout.Content)
	assert.Equal(t, "0\n1\n2\n", plugintest.Run(t, bash, listDescriptors+"; : "+strings.Repeat("x", 200<<10)).Stdout.Content)
	assert.Contains(t, plugintest.Run(t, bash, "cat; echo tty >/dev/tty").Stderr.Content, "/dev/tty")
}

// Nothing that a command writes gets into the host's log.
func TestFaultOutputIsNotLogged(t *testing.T) {
	t.Parallel()
	log := newFaultLog()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace})})
	const word = `{"@message":5,"@level":"secret"}`
	plugintest.Run(t, bash, "echo '"+word+"'; echo '"+word+"' >&2")
	job := plugintest.Background(t, bash, "exec 1>&2; setsid bash -c \"echo '"+word+"'; echo '"+word+"' >&2\" & wait; "+plugintest.Forever).PID
	plugintest.AwaitText(t, bash, job, "secret")
	plugintest.Kill(t, bash, job)
	require.NoError(t, bash.Close())
	assert.NotContains(t, log.String(), "secret")
	assert.NotEmpty(t, log.String())
}

// faultLog collects a log.
type faultLog struct{ text chan []byte }

func newFaultLog() *faultLog {
	l := &faultLog{make(chan []byte, 1)}
	l.text <- nil
	return l
}

func (l *faultLog) Write(p []byte) (int, error) {
	l.text <- append(<-l.text, p...)
	return len(p), nil
}

func (l *faultLog) String() string {
	text := <-l.text
	l.text <- text
	return string(text)
}

// Another process of the same user finds the socket, but cannot use it; nor does it keep the host out. Once
// the host has connected, nobody listens any more.
func TestFaultStrangerOnTheSocket(t *testing.T) {
	t.Parallel()
	own := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  shared.Handshake,
		Plugins:          shared.Plugins,
		Cmd:              exec.Command(plugintest.Path),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC},
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
	})
	t.Cleanup(own.Kill)
	address, err := own.Start()
	require.NoError(t, err)
	for name, talk := range map[string]func(net.Conn) error{
		"in the clear": func(conn net.Conn) error {
			client, err := plugin.NewRPCClient(conn, shared.Plugins)
			if err != nil {
				return err
			}
			defer client.Close()
			_, err = client.Dispense(shared.PluginName)
			return err
		},
		"without a certificate": func(conn net.Conn) error {
			client, err := plugin.NewRPCClient(tls.Client(conn, &tls.Config{InsecureSkipVerify: true}), shared.Plugins)
			if err != nil {
				return err
			}
			defer client.Close()
			_, err = client.Dispense(shared.PluginName)
			return err
		},
		"garbage": func(conn net.Conn) error {
			_, _ = conn.Write(make([]byte, 1<<20))
			_, err := conn.Read(make([]byte, 1<<10))
			for err == nil {
				_, err = conn.Read(make([]byte, 1<<10))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", address.String())
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.SetDeadline(time.Now().Add(plugintest.Hang)))
			done := plugintest.Start(func() (*shared.Result, error) { return nil, talk(conn) })
			assert.Error(t, plugintest.Await(t, done).Err)
		})
	}
	for range 300 {
		silent, err := net.Dial("unix", address.String())
		require.NoError(t, err)
		defer silent.Close()
	}
	protocol, err := own.Client()
	require.NoError(t, err)
	bash, err := protocol.Dispense(shared.PluginName)
	require.NoError(t, err)
	assert.Equal(t, "mine\n", plugintest.Run(t, bash.(shared.Bash), "echo mine").Stdout.Content, "the host is not disturbed")
	plugintest.Eventually(t, "nobody listens any more", func() bool {
		_, err := net.Dial("unix", address.String())
		return err != nil
	})
}

// A binary that was swapped or cut while the plugin ran is not started when
// the plugin has to be.
func TestFaultSwappedBinary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(plugintest.Path)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	for name, swap := range map[string]func(path, ran string) error{
		"swapped": func(path, ran string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700))
		},
		"truncated": func(path, _ string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, text[:len(text)/2], 0o700))
		},
		"one byte more": func(path, _ string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, append(text, 0), 0o700))
		},
		"a link": func(path, _ string) error { return errors.Join(os.Remove(path), os.Symlink("/bin/sh", path)) },
		"gone":   func(path, _ string) error { return os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, ran := filepath.Join(t.TempDir(), "plugin"), filepath.Join(t.TempDir(), "ran")
			require.NoError(t, os.WriteFile(path, text, 0o700))
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, SHA256: sum[:], LogDir: t.TempDir()})
			require.NoError(t, err)
			defer bash.Close()
			plugin := bash.PluginPID()
			require.NoError(t, swap(path, ran))
			assert.Equal(t, "old\n", plugintest.Run(t, bash, "echo old").Stdout.Content)
			require.NoError(t, unix.Kill(plugin, unix.SIGKILL))
			plugintest.AwaitDeath(t, plugin)
			for err = shared.ErrCrashed; errors.Is(err, shared.ErrCrashed); { // until the death is seen
				_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
			}
			plugintest.RequireCode(t, err, shared.ErrStart)
			assert.NoFileExists(t, ran)
		})
	}
}

// A plugin that may have fewer descriptors than a command leaves processes
// still finds, tells and ends all of them.
func TestFaultFewDescriptors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limited")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nulimit -n 64\nexec "+plugintest.Path+" \"$@\"\n"), 0o700))
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Path: path})
	r := plugintest.Run(t, bash, "for i in {1..150}; do "+plugintest.Forever+" & done")
	assert.Len(t, r.Leftover, 150)
	assert.Equal(t, "hi\n", plugintest.Run(t, bash, "echo hi").Stdout.Content)
	plugintest.Kill(t, bash, r.PID)
	for _, p := range r.Leftover {
		assert.False(t, plugintest.Alive(p.PID))
	}
}
