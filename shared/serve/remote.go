package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/muxconn"
	"bashplugin/shared/internal/network"
)

// Remote serves hosts on other machines, many at a time, over net/rpc and TLS 1.3 with
// certificates on both sides. Each host has a session of its own; Connect is the
// host's side. Every field but MaxLinger is required.
type Remote struct {
	TLS       func() *tls.Config                              // for the next connection: the plugin's certificate, and in ClientCAs the CAs of the hosts' certificates
	Open      func(shared.SessionConfig) (shared.Bash, error) // makes the Bash of a new session; if it is an io.Closer, it is closed at the session's end
	MaxLinger time.Duration                                   // the longest ConnectConfig.Linger
	Logger    hclog.Logger                                    // says who connects

	mu       sync.Mutex // guards the fields below
	draining bool
	sessions map[string]*session // by the host's secret name for it
	all      sync.WaitGroup      // of the sessions; grows under mu until draining
}

// Serve serves each connection until the listener is closed. It may be called once.
func (r *Remote) Serve(listener net.Listener) error {
	r.mu.Lock()
	r.sessions = make(map[string]*session)
	r.mu.Unlock()
	for {
		socket, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // there may be too many open files
			r.Logger.Error("cannot accept a connection", "error", err)
			time.Sleep(100 * time.Millisecond)
		default:
			network.NoticeLoss(socket)
			go r.serve(socket)
		}
	}
}

// ServeHTTP answers whether new sessions are taken: 200, or 503 once Drain was called.
func (r *Remote) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// Drain refuses new sessions, waits so long for the end of those that there are, then
// ends them, and returns when none is left.
func (r *Remote) Drain(patience time.Duration) {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	late := time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for name := range r.sessions {
			go r.end(name)
		}
	})
	defer late.Stop()
	r.all.Wait()
}

// serve serves one connection.
func (r *Remote) serve(socket net.Conn) {
	config := r.TLS().Clone()
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{network.Protocol(shared.Handshake.ProtocolVersion)}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.SessionTicketsDisabled = true // each connection shows its certificate
	if config.ClientCAs == nil {         // nil would mean every CA that the system trusts
		config.ClientCAs = x509.NewCertPool()
	}
	conn, log := tls.Server(socket, config), r.Logger.With("address", socket.RemoteAddr().String())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		log.Warn("refused a connection", "error", err)
		socket.Close()
		return
	}
	_, _ = conn.Write([]byte{0}) // the host's certificate will do: TLS 1.3 does not tell
	c := &remoteConn{Conn: muxconn.New(conn), remote: r, host: conn.ConnectionState().PeerCertificates[0].Subject.String()}
	log = log.With("host", c.host)
	log.Info("a host has connected")
	server := &plugin.RPCServer{
		Plugins: plugin.PluginSet{shared.PluginName: c},
		Stdout:  io.MultiReader(), // always empty
		Stderr:  io.MultiReader(),
	}
	server.ServeConn(c)
	_ = c.Close()
	c.lost()
	log.Info("a host has gone")
}

// end ends a session and all its commands.
func (r *Remote) end(name string) {
	r.mu.Lock()
	s := r.sessions[name]
	delete(r.sessions, name)
	r.mu.Unlock()
	if s == nil {
		return
	}
	defer r.all.Done()
	if err := s.Close(); err != nil {
		r.Logger.Error("cannot end every command of a session", "error", err)
	}
	s.End()
}
