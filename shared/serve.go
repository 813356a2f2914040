package shared

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
)

// Serve serves p to the host that started this process until the host is done
// with it. It is plugin.Serve for this contract, with which it shares protocol
// and environment, but for two things: a host that is stopped for a while, by
// a person's Ctrl-Z or a debugger, is not taken for dead, and the process's own
// stdout and stderr stay what they are. An error says that there is no host, or
// why it cannot be served.
//
// A plugin may use either.
func Serve(p *Plugin) error {
	if os.Getenv(Handshake.MagicCookieKey) != Handshake.MagicCookieValue {
		return errors.New("a plugin is started by its host, with hashicorp/go-plugin")
	}
	listener, err := listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	config, cert, err := mutualTLS(os.Getenv("PLUGIN_CLIENT_CERT"))
	if err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // a terminal's is for the host
	_, err = fmt.Printf("%d|%d|unix|%s|%s|%s\n", plugin.CoreProtocolVersion, Handshake.ProtocolVersion, listener.Addr(), plugin.ProtocolNetRPC, cert)
	if err != nil {
		return fmt.Errorf("the host is gone: %w", err)
	}
	done := make(chan struct{})
	failed := make(chan error, 1)
	go func() { failed <- accept(listener, config, p, sync.OnceFunc(func() { close(done) })) }()
	select {
	case <-done:
		return nil
	case err := <-failed:
		return err
	}
}

// accept serves each connection until there can be no more. A host that asks for
// the end of it all calls quit.
func accept(listener net.Listener, config *tls.Config, p *Plugin, quit func()) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("cannot accept a connection: %w", err)
		}
		conn = patient(conn)
		if config != nil {
			conn = tls.Server(conn, config)
		}
		go serveConn(&muxConn{Conn: conn}, p, quit)
	}
}

// connection is the plugin of one connection.
type connection struct {
	*Plugin
	ended        chan struct{}
	disconnected func() // may be called for each Bash
}

// Server is called by go-plugin for each Bash that the host takes.
func (c *connection) Server(broker *plugin.MuxBroker) (any, error) {
	return newServer(c.Impl, broker, c.disconnected), nil
}

// serveConn serves one connection to its end.
func serveConn(conn net.Conn, p *Plugin, quit func()) {
	c := &connection{Plugin: p, ended: make(chan struct{})}
	if p.Disconnected != nil {
		c.disconnected = sync.OnceFunc(p.Disconnected)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
		case <-c.ended:
		}
		if isClosed(done) { // which the end may follow at once
			quit()
		}
	}()
	server := plugin.RPCServer{
		Plugins: plugin.PluginSet{PluginName: c},
		Stdout:  strings.NewReader(""), Stderr: strings.NewReader(""),
		DoneCh: done,
	}
	server.ServeConn(conn)
	close(c.ended)
}

// listen makes a socket where go-plugin would.
func listen() (net.Listener, error) {
	dir := os.Getenv(plugin.EnvUnixSocketDir)
	if dir == "" {
		dir = os.TempDir()
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "plugin"+rand.Text()[:8]))
	if err != nil {
		return nil, fmt.Errorf("cannot make a socket: %w", err)
	}
	return listener, nil
}

// mutualTLS makes the configuration that lets in nobody but the owner of a
// certificate, in PEM, and the certificate that the other side may expect, as
// the handshake has it. Without one, as of a host without AutoMTLS, there is
// neither.
func mutualTLS(client string) (config *tls.Config, cert string, err error) {
	if client == "" {
		return nil, "", nil
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM([]byte(client)) {
		return nil, "", errors.New("PLUGIN_CLIENT_CERT is no certificate in PEM")
	}
	own, err := newCertificate()
	if err != nil {
		return nil, "", fmt.Errorf("cannot make a certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		MinVersion:   tls.VersionTLS13,
	}, base64.RawStdEncoding.EncodeToString(own.Certificate[0]), nil
}

// newCertificate makes a certificate for this process alone, under the name
// that go-plugin's client asks for.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "localhost"},
		DNSNames:              []string{"localhost"},
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
