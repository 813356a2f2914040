package deploy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// hang bounds every wait.
const hang = 2 * time.Minute

// docker runs the engine's command.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	require.NoError(t, err, "docker %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// container is one instance of the image, and a host of it.
type container struct {
	name string
	host *host.Client
}

// begin runs an instance at an address and connects to it.
func begin(t *testing.T, image, certs, address string) *container {
	t.Helper()
	c := &container{name: "plugin-" + strings.ReplaceAll(address, ".", "-")}
	docker(t, "run", "-d", "--name", c.name, "--network", "plugins", "--ip", address, "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"-v", certs+":/run/secrets:ro", image, "-drain", "1h")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(docker(t, "logs", c.name))
		}
		docker(t, "rm", "-f", c.name)
	})
	config, err := host.LoadTLS(certs+"/host.pem", certs+"/host-key.pem", certs+"/ca.pem")
	require.NoError(t, err)
	config.ServerName = "localhost"
	require.Eventually(t, func() bool {
		c.host, err = host.Connect(t.Context(), host.ConnectConfig{Address: address + ":7700", TLS: config, Linger: 10 * time.Second})
		return err == nil
	}, hang, 50*time.Millisecond, "%v", err)
	t.Cleanup(func() { c.host.Close() })
	return c
}

func (c *container) run(t *testing.T, command string) string {
	t.Helper()
	r, err := c.host.Execute(t.Context(), shared.ExecuteRequest{Command: command})
	require.NoError(t, err)
	return r.Stdout.Content
}

// start runs a command in another goroutine.
func (c *container) start(ctx context.Context, command string) <-chan any {
	done := make(chan any, 1)
	go func() {
		r, err := c.host.Execute(ctx, shared.ExecuteRequest{Command: command})
		if err != nil {
			done <- err
			return
		}
		done <- r.Stdout.Content
	}()
	return done
}

func await(t *testing.T, done <-chan any) any {
	t.Helper()
	select {
	case v := <-done:
		return v
	case <-time.After(hang):
		require.FailNow(t, "nothing came")
		return nil
	}
}

// Three containers, three hosts: one container is killed, one cut off for a while, one
// drained.
func TestDocker(t *testing.T) {
	image := os.Getenv("DEPLOY_TEST_IMAGE")
	if image == "" {
		t.Skip("make test-docker runs this")
	}
	certs := filepath.Join(t.TempDir(), "certs")
	docker(t, "network", "create", "--subnet", "10.214.0.0/24", "plugins")
	defer func() { docker(t, "network", "rm", "plugins") }()
	makeCerts := exec.Command("docker", "run", "--rm", "-u", "0", "-v", filepath.Dir(certs)+":/made", "--entrypoint", "bash-plugin", image, "certs", "/made/certs")
	out, err := makeCerts.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"", "plugin.pem", "plugin-key.pem", "ca.pem"} {
		require.NoError(t, os.Chown(filepath.Join(certs, name), 1000, 1000))
	}
	t.Run("containers", func(t *testing.T) {
		killed, cut, drained := begin(t, image, certs, "10.214.0.11"), begin(t, image, certs, "10.214.0.12"), begin(t, image, certs, "10.214.0.13")
		for _, c := range []*container{killed, cut, drained} {
			assert.Equal(t, "1 1000\n", c.run(t, "echo $PPID $(id -u)"), "the plugin is process 1, of an ordinary user")
			c.run(t, "(sleep 0.01 & sleep 0.02 &)")
			require.Eventually(t, func() bool {
				return c.run(t, "grep -l '^State:.Z' /proc/[0-9]*/status | grep -c .") == "0\n"
			}, hang, 50*time.Millisecond, "zombies")
		}
		require.Eventually(t, func() bool {
			return docker(t, "inspect", "-f", "{{.State.Health.Status}}", cut.name) == "healthy"
		}, hang, 100*time.Millisecond)

		call := killed.start(t.Context(), "sleep 1000")
		docker(t, "kill", killed.name)
		assert.ErrorIs(t, await(t, call).(error), shared.ErrCrashed)

		call = cut.start(t.Context(), "echo begun; sleep 2; echo done")
		ended := func() int { return strings.Count(docker(t, "logs", cut.name), "status=completed") }
		before := ended()
		docker(t, "network", "disconnect", "plugins", cut.name)
		require.Eventually(t, func() bool { return ended() > before }, hang, 100*time.Millisecond, "the command ends meanwhile")
		docker(t, "network", "connect", "--ip", "10.214.0.12", "plugins", cut.name)
		assert.Equal(t, "begun\ndone\n", await(t, call))

		call = drained.start(t.Context(), "echo begun; sleep 2; echo done")
		docker(t, "kill", "-s", "TERM", drained.name)
		assert.Equal(t, "begun\ndone\n", await(t, call), "what runs may end")
		require.NoError(t, drained.host.Close())
		assert.Equal(t, "0", docker(t, "wait", drained.name))
		_, err := drained.host.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
		assert.True(t, errors.Is(err, shared.ErrClosed))
		assert.Equal(t, "on\n", cut.run(t, "echo on"))
	})
}
