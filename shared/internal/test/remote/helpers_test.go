//go:build unix

package remote

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// remotePlugin is a plugin that serves over TCP on this machine.
type remotePlugin struct {
	address, health string
	certs           string // folder that "bash-plugin certs" has made
	cmd             *exec.Cmd
	ended           chan struct{}

	mu  sync.Mutex // guards log
	log strings.Builder
}

// certsDir makes certificates with the program itself.
func certsDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	out, err := exec.Command(plugintest.Path, "certs", dir, "plugin.test").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// serveRemote starts the real plugin, and ends it with the test. wrap, if any, is a
// command that starts it.
func serveRemote(t *testing.T, flags []string, wrap ...string) *remotePlugin {
	t.Helper()
	p := &remotePlugin{certs: certsDir(t), ended: make(chan struct{})}
	args := append(wrap, plugintest.Path, "-listen", "127.0.0.1:0", "-health", "127.0.0.1:0", "-log-dir", t.TempDir(),
		"-tls-cert", p.certs+"/plugin.pem", "-tls-key", p.certs+"/plugin-key.pem", "-tls-client-ca", p.certs+"/ca.pem")
	p.cmd = exec.Command(args[0], append(args[1:], flags...)...)
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	serves := make(chan struct{})
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if match := regexp.MustCompile(`serves (hosts|its health): address=(\S+)`).FindStringSubmatch(lines.Text()); match != nil {
				if match[1] == "its health" {
					p.health = match[2]
				} else {
					p.address = match[2]
				}
				if p.health != "" && p.address != "" {
					close(serves)
				}
			}
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	select {
	case <-serves:
	case <-p.ended:
		require.FailNow(t, "it did not start", p.said())
	case <-time.After(plugintest.Hang):
		require.FailNow(t, "it does not serve", p.said())
	}
	return p
}

func (p *remotePlugin) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *remotePlugin) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(sig))
}

// config is that of a host whom the plugin knows.
func (p *remotePlugin) config(t *testing.T) host.ConnectConfig {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(p.certs+"/host.pem", p.certs+"/host-key.pem")
	require.NoError(t, err)
	return host.ConnectConfig{Address: p.address, ConnectTimeout: plugintest.Hang, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool(t, p.certs+"/ca.pem")}}
}

func pool(t *testing.T, path string) *x509.CertPool {
	t.Helper()
	certs := x509.NewCertPool()
	require.True(t, certs.AppendCertsFromPEM([]byte(plugintest.ReadFile(t, path))))
	return certs
}

// connect connects a host, and closes it with the test.
func (p *remotePlugin) connect(t *testing.T) *host.Client {
	t.Helper()
	return connectWith(t, p.config(t))
}

func connectWith(t *testing.T, cfg host.ConnectConfig) *host.Client {
	t.Helper()
	bash, err := host.Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { bash.Close() })
	return bash
}

// signed makes a certificate that the CA of a folder signs.
func signed(t *testing.T, dir string, cert *x509.Certificate) tls.Certificate {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(dir+"/ca.pem", dir+"/ca-key.pem")
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, cert, ca.Leaf, key.Public(), ca.PrivateKey)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serveTLS is listen over TLS.
func serveTLS(t *testing.T, config *tls.Config, serve func(net.Conn)) string {
	t.Helper()
	return plugintest.Listen(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { serve(tls.Server(conn, config)) })
}

func expired(cert x509.Certificate) *x509.Certificate {
	cert.NotBefore, cert.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	return &cert
}

// hostCert and pluginCert are what certificates for either side say.
func hostCert(name string) x509.Certificate {
	return x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func pluginCert() x509.Certificate {
	cert := hostCert("plugin")
	cert.ExtKeyUsage, cert.IPAddresses = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []net.IP{net.IPv4(127, 0, 0, 1)}
	return cert
}

// connectError is that of an attempt which must fail.
func connectError(t *testing.T, ctx context.Context, cfg host.ConnectConfig) error {
	t.Helper()
	bash, err := host.Connect(ctx, cfg)
	if err == nil {
		bash.Close()
	}
	require.Error(t, err)
	return err
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
