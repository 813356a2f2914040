//go:build unix

package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// remoteFlags starts a plugin that serves over TCP, and returns the flags that connect
// to it.
func remoteFlags(t *testing.T) []string {
	t.Helper()
	plugin, certs := filepath.Join(programs, "bash-plugin"), filepath.Join(t.TempDir(), "certs")
	require.NoError(t, exec.Command(plugin, "certs", certs).Run())
	cmd := exec.Command(plugin, "-listen", "127.0.0.1:0", "-log-dir", t.TempDir(), "-tls-cert", certs+"/plugin.pem", "-tls-key", certs+"/plugin-key.pem", "-tls-client-ca", certs+"/ca.pem")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for lines.Scan() { // until it has ended
			continue
		}
		_ = cmd.Wait()
	})
	require.True(t, lines.Scan())
	_, address, found := strings.Cut(lines.Text(), "serves hosts: address=")
	require.True(t, found, lines.Text())
	address, _, _ = strings.Cut(address, " ")
	return []string{"-connect", address, "-tls-cert", certs + "/host.pem", "-tls-key", certs + "/host-key.pem", "-tls-ca", certs + "/ca.pem"}
}

func TestConnectFlags(t *testing.T) {
	t.Parallel()
	connect := remoteFlags(t)
	host := func(stdin string, args ...string) ran {
		cmd := exec.Command(filepath.Join(programs, "host-example"), append(append(args[:1:1], connect...), args[1:]...)...)
		cmd.Stdin = strings.NewReader(stdin)
		return finish(t, cmd)
	}
	r := host("", "run", "-env", "WORD=hi", "-dir", "/", `pwd; echo $WORD >&2; exit 3`)
	assert.Equal(t, ran{stdout: "/\n", stderr: "hi\n", code: 3}, ran{stdout: r.stdout, stderr: r.stderr, code: r.code})
	r = host("echo hello\n:cd /\npwd\n:cd /nowhere\n", "repl")
	assert.Equal(t, "hello\n/\n", r.stdout)
	assert.Contains(t, r.stderr, "/nowhere")
	r = host(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n", "mcp")
	assert.Contains(t, r.stdout, `"serverInfo"`)
	r = host("", "run", "-read-only", "-best-effort", "-memory", "1GiB", "-tls-server-name", "localhost", "ulimit -d; touch "+t.TempDir()+"/file")
	assert.Contains(t, r.stderr, "Permission denied")
	for want, args := range map[string][]string{
		"three files are needed":          {"run", "-tls-key", "", "true"},
		"-log-dir is for a plugin":        {"run", "-log-dir", "/tmp", "true"},
		"-plugin is for a plugin":         {"run", "-plugin", "/nowhere", "true"},
		"-writable: Confine.Writable":     {"run", "-writable", "/nowhere", "true"},
		"-tls-server-name: cannot":        {"run", "-tls-server-name", "another.test", "true"},
		`the CA's certificate "/nowhere"`: {"run", "-tls-ca", "/nowhere", "true"},
		`the key "/nowhere"`:              {"run", "-tls-key", "/nowhere", "true"},
	} {
		r := host("", args...)
		assert.Equal(t, toolError, r.code)
		assert.Contains(t, r.stderr, want)
	}
}
