package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/rpc"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/muxconn"
	"bashplugin/shared/internal/session"
)

// Remote serves hosts on other machines, many at a time, over net/rpc and TLS 1.3 with
// certificates on both sides. Each host has a session of its own; host.Connect is the
// host's side. Every field but MaxLinger is required.
//
// A session belongs to the name in its host's certificate. If a host's connection is lost, its session
// lingers for as long as the host has asked for; 64 sessions of one name may do so at a time.
type Remote struct {
	// TLS returns what the next connection needs: the plugin's certificate and, in ClientCAs, the CAs
	// of the hosts' certificates.
	TLS func() *tls.Config

	// Open makes the Bash of a new session. If it is an io.Closer, it is closed at the session's end.
	Open func(shared.SessionConfig) (shared.Bash, error)

	MaxLinger time.Duration // the longest ConnectConfig.Linger
	Logger    hclog.Logger  // says who connects

	once   sync.Once // makes server
	server *session.Server
	lobby  lobby
}

// sessions returns the sessions of all hosts.
func (r *Remote) sessions() *session.Server {
	r.once.Do(func() {
		r.server = shared.NewServer(r.open)
		r.server.MaxLinger = r.MaxLinger
	})
	return r.server
}

// open begins a session.
func (r *Remote) open(config shared.SessionConfig) (shared.Opening, error) {
	bash, err := r.Open(config)
	if err != nil {
		return shared.Opening{}, err
	}
	end := func() {
		closer, ok := bash.(io.Closer)
		if !ok {
			return
		}
		err := closer.Close()
		if err != nil {
			r.Logger.Error("cannot end every command of a session", "error", err)
		}
	}
	return shared.Opening{Bash: bash, End: end}, nil
}

// Serve serves each connection until the listener is closed.
func (r *Remote) Serve(listener net.Listener) error {
	return accept(listener, &r.lobby, r.serve, func(err error) {
		r.Logger.Error("cannot accept a connection", "error", err)
	})
}

// Drain refuses new sessions and tells the hosts that the plugin ends. Sessions that are open may go on
// for as long as patience, then Drain ends them. It returns when none is left. It may be called again
// meanwhile, with less patience.
func (r *Remote) Drain(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.sessions().Drain(ctx, "it is being stopped")
}

// serve serves one connection.
func (r *Remote) serve(_ net.Listener, socket net.Conn) {
	log := r.Logger.With("address", socket.RemoteAddr().String())
	conn := tls.Server(socket, r.config())
	err := handshake(conn)
	r.lobby.leave(socket)
	if err != nil {
		log.Warn("refused a connection", "error", err)
		socket.Close()
		return
	}
	// This byte tells the host that its certificate was accepted, which TLS 1.3 itself does not tell,
	// and which version of the contract the plugin speaks.
	_, _ = conn.Write([]byte{byte(shared.Handshake.ProtocolVersion)})
	c := &remoteConn{
		Conn:     muxconn.New(conn, session.Silence),
		sessions: r.sessions(),
		host:     conn.ConnectionState().PeerCertificates[0].Subject.String(),
	}
	log = log.With("host", c.host)
	log.Info("a host has connected")
	server := &plugin.RPCServer{
		Plugins: plugin.PluginSet{shared.PluginName: c},
		Stdout:  io.MultiReader(), // always empty
		Stderr:  io.MultiReader(),
	}
	server.ServeConn(c)
	_ = c.Close()
	log.Info("a host has gone")
}

// config returns the configuration for the next connection.
func (r *Remote) config() *tls.Config {
	config := r.TLS().Clone()
	config.MinVersion = tls.VersionTLS13
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.SessionTicketsDisabled = true // each connection shows its certificate
	if config.ClientCAs == nil {         // nil would mean every CA that the system trusts
		config.ClientCAs = x509.NewCertPool()
	}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		// A host of any version is taken, so that it learns which side is older.
		own := config.Clone()
		own.GetConfigForClient = nil
		own.NextProtos = []string{"bash-plugin"}
		for _, protocol := range hello.SupportedProtos {
			if strings.HasPrefix(protocol, "bash-plugin/") {
				own.NextProtos = append(own.NextProtos, protocol)
			}
		}
		return own, nil
	}
	return config
}

// remoteConn is one connection of a host on another machine. To go-plugin it is the Plugin
// that this connection dispenses.
type remoteConn struct {
	*muxconn.Conn
	sessions *session.Server
	host     string
}

// Server is called by go-plugin.
func (c *remoteConn) Server(broker *plugin.MuxBroker) (any, error) {
	return shared.NewService(c.sessions.Endpoint(broker, c.host, func() { _ = c.Close() })), nil
}

// Client is never called.
func (c *remoteConn) Client(*plugin.MuxBroker, *rpc.Client) (any, error) {
	return nil, errors.New("this is a plugin")
}
