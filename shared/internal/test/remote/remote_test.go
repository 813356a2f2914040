//go:build unix

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/serve"
)

func TestConnectRunsCommands(t *testing.T) {
	t.Parallel()
	t.Run("sessions", func(t *testing.T) {
		p := serveRemote(t, []string{"-drop-env", "HOME"})
		cfg := p.config(t)
		cfg.Dir, cfg.Env, cfg.DropEnv = "/", []string{"WORD=over", "A_KEY=1", "PATH=" + os.Getenv("PATH")}, []string{"*_KEY"}
		bash := connectWith(t, cfg)
		r := plugintest.Run(t, bash, `echo "$PWD $WORD ${A_KEY-none} ${HOME-none} ${PLUGIN_UNIX_SOCKET_DIR-none}"; echo oops >&2; exit 3`)
		assert.Equal(t, "/ over none none none\n", r.Stdout.Content)
		assert.Equal(t, "oops\n", r.Stderr.Content)
		assert.Equal(t, 3, r.ExitCode)
		assert.Zero(t, bash.PluginPID(), "no process of this machine")

		job := plugintest.Background(t, bash, "echo begun; "+plugintest.Forever)
		plugintest.AwaitText(t, bash, job.PID, "begun")
		assert.Equal(t, shared.CauseKill, plugintest.Kill(t, bash, job.PID).Cause)
		_, err := bash.Check(t.Context(), shared.CheckRequest{PID: job.PID})
		assert.ErrorIs(t, err, shared.ErrNotFound)

		var live strings.Builder
		r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 200000", Stdout: &live, Lossless: true})
		assert.Equal(t, int64(live.Len()), r.Stdout.TotalBytes)

		ctx, cancel := plugintest.Cancelable(t)
		g := plugintest.NewGate(t)
		call := plugintest.StartExecute(ctx, bash, shared.ExecuteRequest{Command: g.Wait() + "; " + plugintest.Forever})
		g.Open(t)
		cancel()
		assert.Equal(t, shared.CauseCancel, plugintest.Await(t, call).Result.Cause)
		assert.Contains(t, p.said(), "a host has connected: address=127.0.0.1:")
		assert.Contains(t, p.said(), "host=CN=host")
	})
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p, other := serveRemote(t, nil), certsDir(t)
	closed := plugintest.FreeAddress(t)
	silent := plugintest.Listen(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	plain := plugintest.Listen(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n"); conn.Close() })
	handshake := func(conn net.Conn) { _ = conn.(*tls.Conn).Handshake(); conn.Close() }
	newer := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{signed(t, p.certs, new(pluginCert()))}, NextProtos: []string{"bash-plugin/3"}}, handshake)
	versionThree := func(conn net.Conn) { _ = conn.(*tls.Conn).Handshake(); _, _ = conn.Write([]byte{3}); conn.Close() }
	newest := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{signed(t, p.certs, new(pluginCert()))}, NextProtos: []string{"bash-plugin/2"}}, versionThree)
	web := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{signed(t, p.certs, new(pluginCert()))}}, handshake)
	old := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{signed(t, p.certs, expired(pluginCert()))}}, handshake)
	strange, err := tls.LoadX509KeyPair(other+"/host.pem", other+"/host-key.pem")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*host.ConnectConfig)
		field  string
		says   string
	}{
		"nobody there":         {func(c *host.ConnectConfig) { c.Address = closed }, "Address", "connection refused"},
		"no answer":            {func(c *host.ConnectConfig) { c.Address, c.ConnectTimeout = silent, 50*time.Millisecond }, "ConnectTimeout", "does not answer in time"},
		"no TLS":               {func(c *host.ConnectConfig) { c.Address = plain }, "Address", "does bash-plugin -listen serve there?"},
		"another version":      {func(c *host.ConnectConfig) { c.Address = newer }, "Address", "speaks another version of the contract"},
		"a newer version":      {func(c *host.ConnectConfig) { c.Address = newest }, "Address", "this host is the older one (3, this host 2)"},
		"no plugin":            {func(c *host.ConnectConfig) { c.Address = web }, "Address", "does bash-plugin -listen serve there?"},
		"the plugin's CA":      {func(c *host.ConnectConfig) { c.TLS.RootCAs = pool(t, other+"/ca.pem") }, "TLS", "this host refuses the plugin's certificate: see when it expires, RootCAs and ServerName (tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"the plugin's is over": {func(c *host.ConnectConfig) { c.Address = old }, "TLS", "certificate has expired"},
		"the plugin's name":    {func(c *host.ConnectConfig) { c.TLS.ServerName = "another.test" }, "TLS", "certificate is valid for"},
		"the host's CA":        {func(c *host.ConnectConfig) { c.TLS.Certificates = []tls.Certificate{strange} }, "TLS", "refuses this host's certificate: see when it expires, and -tls-client-ca (remote error: tls: unknown certificate authority)"},
		"the host's is over": {func(c *host.ConnectConfig) {
			c.TLS.Certificates = []tls.Certificate{signed(t, p.certs, expired(hostCert("late")))}
		}, "TLS", "(remote error: tls: expired certificate)"},
		"a plugin's for a host": {func(c *host.ConnectConfig) {
			c.TLS.Certificates = []tls.Certificate{signed(t, p.certs, new(pluginCert()))}
		}, "TLS", "refuses this host"},
		"no such directory": {func(c *host.ConnectConfig) { c.Dir = "/nowhere" }, "Dir", "cannot run commands in \"/nowhere\""},
		"no port":           {func(c *host.ConnectConfig) { c.Address = "localhost" }, "Address", "use HOST:PORT"},
		"no certificate":    {func(c *host.ConnectConfig) { c.TLS = nil }, "TLS", "bash-plugin certs makes one"},
		"a negative time":   {func(c *host.ConnectConfig) { c.ConnectTimeout = -1 }, "ConnectTimeout", "neither may be negative"},
		"a bad variable":    {func(c *host.ConnectConfig) { c.Env = []string{"x"} }, "Env", "is not KEY=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := p.config(t)
			c.change(&cfg)
			err := connectError(t, t.Context(), cfg)
			var e *shared.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.field, e.Field)
			assert.Contains(t, e.Message, c.says)
		})
	}
	ctx, cancel := plugintest.Cancelable(t)
	cancel()
	assert.ErrorIs(t, connectError(t, ctx, p.config(t)), context.Canceled)
}

// A name that the certificate has, beside the address, will do.
func TestConnectByAName(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	cfg := p.config(t)
	cfg.TLS.ServerName = "plugin.test"
	assert.Equal(t, "hi\n", plugintest.Run(t, connectWith(t, cfg), "echo hi").Stdout.Content)
}

// Whatever one host does, another does not notice, and sees nothing of it.
func TestSessionsOfHostsAreApart(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, nil)
	one, other := p.connect(t), p.connect(t)
	job := plugintest.Background(t, other, "echo begun; "+plugintest.Forever)
	plugintest.AwaitText(t, other, job.PID, "begun")
	list := plugintest.Check(t, one, shared.CheckRequest{PID: shared.AllJobs})
	assert.Empty(t, list.Jobs)
	for _, call := range []func() (*shared.Result, error){
		func() (*shared.Result, error) {
			return one.Check(t.Context(), shared.CheckRequest{PID: job.PID, All: true})
		},
		func() (*shared.Result, error) { return one.Kill(t.Context(), shared.KillRequest{PID: job.PID}) },
	} {
		_, err := call()
		require.ErrorIs(t, err, shared.ErrNotFound)
		assert.NotContains(t, err.Error(), "begun")
	}
	_, err := one.Kill(t.Context(), shared.KillRequest{PID: shared.AllJobs})
	require.NoError(t, err)
	lives := func() {
		t.Helper()
		assert.Equal(t, shared.StatusRunning, plugintest.Check(t, other, shared.CheckRequest{PID: job.PID}).Status)
		assert.Equal(t, "on\n", plugintest.Run(t, other, "echo on").Stdout.Content)
	}
	lives()

	for range 4 {
		plugintest.Execute(t, one, shared.ExecuteRequest{Command: "yes", Mode: shared.ModeBackground})
	}
	lives()
	pids := t.TempDir() + "/pids"
	plugintest.Background(t, one, "export pids="+pids+"; "+plugintest.HardToEnd)
	left := plugintest.Numbers(t, plugintest.AwaitFile(t, pids))
	require.NoError(t, one.Close())
	plugintest.AwaitDeath(t, left...)
	lives()

	host := exec.Command(filepath.Join(filepath.Dir(plugintest.Path), "host-example"), "run", "-linger", "0", "-connect", p.address, "-tls-ca", p.certs+"/ca.pem",
		"-tls-cert", p.certs+"/host.pem", "-tls-key", p.certs+"/host-key.pem", "export pids="+pids+".crash; "+plugintest.HardToEnd+plugintest.Forever)
	require.NoError(t, host.Start())
	left = plugintest.Numbers(t, plugintest.AwaitFile(t, pids+".crash"))
	require.NoError(t, host.Process.Kill())
	_ = host.Wait()
	plugintest.AwaitDeath(t, left...)
	lives()
}

// A plugin that is killed leaves nothing, and the next call begins another session.
func TestARemotePluginIsKilled(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, []string{"-listen", plugintest.FreeAddress(t)})
	bash := p.connect(t)
	pids := t.TempDir() + "/pids"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "export pids=" + pids + "; " + plugintest.HardToEnd + plugintest.Forever})
	left := plugintest.Numbers(t, plugintest.AwaitFile(t, pids))
	p.signal(t, syscall.SIGKILL)
	err := plugintest.Await(t, call).Err
	require.ErrorIs(t, err, shared.ErrCrashed)
	assert.Contains(t, err.Error(), "begins another session")
	plugintest.AwaitDeath(t, left...)
	plugintest.Await(t, p.ended)
	_, err = bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true"})
	assert.ErrorContains(t, err, "connection refused")
}

func TestSIGTERMDrainsAPlugin(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, []string{"-drain", "1h"})
	bash, other := p.connect(t), p.connect(t)
	health := func() string {
		answer, err := http.Get("http://" + p.health + "/healthz")
		require.NoError(t, err)
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return fmt.Sprintf("%d %s", answer.StatusCode, text)
	}
	assert.Equal(t, "200 ", health())
	g := plugintest.NewGate(t)
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "echo begun; " + g.Wait() + "; echo done"})
	p.signal(t, syscall.SIGTERM)
	plugintest.Eventually(t, "the drain", func() bool { return health() == "503 " })
	err := connectError(t, t.Context(), p.config(t))
	require.ErrorIs(t, err, shared.ErrClosed)
	assert.Contains(t, err.Error(), "connect to another one")
	g.Open(t)
	assert.Equal(t, "begun\ndone\n", plugintest.Await(t, call).Result.Stdout.Content, "what runs may end")
	require.NoError(t, bash.Close())
	assert.Equal(t, "on\n", plugintest.Run(t, other, "echo on").Stdout.Content)
	require.NoError(t, other.Close())
	plugintest.Await(t, p.ended)
	assert.True(t, p.cmd.ProcessState.Success())
}

// Jobs end after the time for them, and everything they have started.
func TestADrainEndsJobs(t *testing.T) {
	t.Parallel()
	p := serveRemote(t, []string{"-drain", "10ms"})
	bash := p.connect(t)
	pids := t.TempDir() + "/pids"
	call := plugintest.StartExecute(t.Context(), bash, shared.ExecuteRequest{Command: "export pids=" + pids + "; " + plugintest.HardToEnd + plugintest.Forever})
	left := plugintest.Numbers(t, plugintest.AwaitFile(t, pids))
	p.signal(t, syscall.SIGTERM)
	plugintest.Await(t, p.ended)
	assert.True(t, p.cmd.ProcessState.Success())
	plugintest.AwaitDeath(t, left...)
	if out := plugintest.Await(t, call); out.Err == nil {
		assert.Equal(t, shared.CauseClose, out.Result.Cause)
	} else {
		assert.ErrorIs(t, out.Err, shared.ErrCrashed)
	}
}

// The files of the certificates are read again on SIGHUP. What cannot be used changes
// nothing.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	p, other := serveRemote(t, nil), certsDir(t)
	before := p.connect(t)
	writeFile(t, p.certs+"/plugin.pem", "nonsense")
	p.signal(t, syscall.SIGHUP)
	plugintest.Eventually(t, "the complaint", func() bool { return strings.Contains(p.said(), "error=\"cannot use the certificate") })
	assert.Regexp(t, `(?m) \[ERROR\] .*: cannot read the certificates again, those from before stay in use: error="cannot use`, p.said())
	assert.NotContains(t, p.said(), "has read the certificates again")
	p.connect(t)
	for _, name := range []string{"plugin.pem", "plugin-key.pem", "ca.pem"} {
		writeFile(t, p.certs+"/"+name, plugintest.ReadFile(t, other+"/"+name))
	}
	p.signal(t, syscall.SIGHUP)
	plugintest.Eventually(t, "the new ones", func() bool {
		return strings.Contains(p.said(), "[INFO]  bash-plugin: has read the certificates again\n")
	})
	cfg := p.config(t) // the host's certificate is of the old CA
	assert.ErrorContains(t, connectError(t, t.Context(), cfg), "unknown certificate authority")
	cert, err := tls.LoadX509KeyPair(other+"/host.pem", other+"/host-key.pem")
	require.NoError(t, err)
	cfg.TLS.Certificates = []tls.Certificate{cert}
	assert.Equal(t, "new\n", plugintest.Run(t, connectWith(t, cfg), "echo new").Stdout.Content)
	assert.Equal(t, "old\n", plugintest.Run(t, before, "echo old").Stdout.Content, "a connection stays")
}

// The keys are the user's alone, and certs never overwrites them.
func TestCertsAreMadeOnce(t *testing.T) {
	t.Parallel()
	dir := certsDir(t)
	for _, name := range []string{"ca", "plugin", "host"} {
		info, err := os.Stat(dir + "/" + name + "-key.pem")
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	before := plugintest.ReadFile(t, dir+"/plugin.pem")
	out, err := exec.Command(plugintest.Path, "certs", dir).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "file exists")
	assert.Equal(t, before, plugintest.ReadFile(t, dir+"/plugin.pem"))
	block, _ := pem.Decode([]byte(before))
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	assert.Equal(t, []string{"plugin.test", "localhost"}, cert.DNSNames)
}

// What begins with "-" is a flag: no folder of keys is made by mistake.
func TestCertsExplainsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certs := func(args ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(plugintest.Path, append([]string{"certs"}, args...)...)
		cmd.Dir = dir
		out, says := new(strings.Builder), new(strings.Builder)
		cmd.Stdout, cmd.Stderr = out, says
		err = cmd.Run()
		return out.String(), says.String(), err
	}
	for _, args := range [][]string{{"-help"}, {"-h"}, {"--help"}, {"certs", "-help"}} {
		stdout, stderr, err := certs(args...)
		require.NoError(t, err, args)
		assert.True(t, strings.HasPrefix(stdout, "usage: bash-plugin certs DIR ["), stdout)
		assert.Empty(t, stderr)
	}
	for _, args := range [][]string{{"-x"}, {"--"}, {"-"}, {"certs", "-x"}, {"-listen", "127.0.0.1:0"}} {
		stdout, stderr, err := certs(args...)
		require.Error(t, err, args)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, "a folder of that name is ./-", args)
	}
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, made)
	_, stderr, err := certs("./-x")
	require.NoError(t, err, stderr)
	assert.FileExists(t, dir+"/-x/plugin.pem")
}

func TestServingNeedsCertificates(t *testing.T) {
	t.Parallel()
	dir := certsDir(t)
	for want, args := range map[string][]string{
		"three files are needed":     {"-listen", "127.0.0.1:0", "-tls-cert", dir + "/plugin.pem"},
		"cannot use the certificate": {"-listen", "127.0.0.1:0", "-tls-cert", "/nowhere", "-tls-key", dir + "/plugin-key.pem", "-tls-client-ca", dir + "/ca.pem"},
		"usage: bash-plugin certs ":  {"certs"},
		"must be in PEM":             {"-listen", "127.0.0.1:0", "-tls-cert", dir + "/plugin.pem", "-tls-key", dir + "/plugin-key.pem", "-tls-client-ca", dir + "/ca-key.pem"},
	} {
		out, err := exec.Command(plugintest.Path, args...).CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), want)
	}
}

// A Remote without known hosts refuses everyone, also those with a good certificate.
func TestARemoteKnowsNobodyByDefault(t *testing.T) {
	t.Parallel()
	dir := certsDir(t)
	cert, err := tls.LoadX509KeyPair(dir+"/plugin.pem", dir+"/plugin-key.pem")
	require.NoError(t, err)
	remote := &serve.Remote{Logger: hclog.NewNullLogger(), TLS: func() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{cert}} }}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- remote.Serve(listener) }()
	p := &remotePlugin{address: listener.Addr().String(), certs: dir}
	assert.ErrorContains(t, connectError(t, t.Context(), p.config(t)), "refuses this host")
	listener.Close()
	assert.ErrorIs(t, plugintest.Await(t, served), net.ErrClosed)
}
