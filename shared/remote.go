package shared

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"bashplugin/shared/internal/muxconn"
)

// remoteProtocol is what both sides name in the TLS handshake, so that another version
// of the contract is refused there.
var remoteProtocol = fmt.Sprintf("bash-plugin/%d", Handshake.ProtocolVersion)

// Remote serves hosts on other machines, many at a time, over net/rpc and TLS 1.3 with
// certificates on both sides. Each host has a session of its own; Connect is the
// host's side. Every field but MaxLinger is required.
type Remote struct {
	TLS       func() *tls.Config                // for the next connection: the plugin's certificate, and in ClientCAs the CAs of the hosts' certificates
	Open      func(SessionConfig) (Bash, error) // makes the Bash of a new session; if it is an io.Closer, it is closed at the session's end
	MaxLinger time.Duration                     // the longest ConnectConfig.Linger
	Logger    hclog.Logger                      // says who connects

	mu       sync.Mutex // guards the fields below
	draining bool
	sessions map[string]*session // by the host's secret name for it
	all      sync.WaitGroup      // of the sessions; grows under mu until draining
}

// SessionConfig says what a host on another machine asks for its commands.
type SessionConfig struct {
	Dir          string   // where they run; "": where the plugin decides
	Env, DropEnv []string // as in a LaunchConfig, over the plugin's environment
	Host         string   // the name in the host's certificate
}

// LoadTLS reads files in PEM: a certificate with its key, and the certificates of the CAs
// that sign the other side's. Connect and Remote take the result.
func LoadTLS(cert, key, ca string) (*tls.Config, error) {
	if cert == "" || key == "" || ca == "" {
		return nil, errors.New("three files are needed: a certificate, its key and the certificate of the other side's CA (bash-plugin certs makes them)")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %q with the key %q: %w", cert, key, err)
	}
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(ca); err != nil || !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot use the CA's certificate %q: %w", ca, errors.Join(err, errors.New("it must be in PEM")))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool}, nil
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
			noticeLoss(socket)
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
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{remoteProtocol}
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
		Plugins: plugin.PluginSet{PluginName: &Plugin{remote: c}},
		Stdout:  io.MultiReader(), // always empty
		Stderr:  io.MultiReader(),
	}
	server.ServeConn(c)
	_ = c.Close()
	c.lost()
	log.Info("a host has gone")
}

// remoteConn is one connection of a host on another machine.
type remoteConn struct {
	*muxconn.Conn
	remote *Remote
	host   string
	name   string // of its session; "": not open; guarded by the Remote's mu
}

// open begins a session, or goes on with one whose connection is lost, or is about to be
// noticed as lost.
func (c *remoteConn) open(args openArgs, broker *plugin.MuxBroker) (s *session, err error) {
	r := c.remote
	if args.Config.Host = c.host; !args.Again {
		s = new(session)
		s.linger.Store(int64(max(0, min(args.Linger, r.MaxLinger))))
		s.calls.keeps = s.linger.Load() > 0
		if s.impl, err = r.Open(args.Config); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch known := r.sessions[args.Session]; {
	case s == nil:
		s = known
	case r.draining || known != nil || c.name != "":
		_ = s.close() // it has no commands
		return nil, &Error{Code: CodeClosed, Message: "the plugin takes no new sessions, because it is about to end: connect to another one"}
	default:
		r.sessions[args.Session] = s
		r.all.Add(1)
	}
	if s == nil || c.name != "" || s.timer != nil && !s.timer.Stop() {
		return nil, &Error{Code: CodeNotFound, Message: "the session has ended"}
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	c.name, s.conn, s.timer = args.Session, c, nil
	s.broker.set(broker, false)
	if isClosed(c.Ended()) { // lost may not have seen the name
		go c.lost()
	}
	return s, nil
}

// lost ends the session of a connection that has ended, unless the host comes back.
func (c *remoteConn) lost() {
	r := c.remote
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[c.name]; s != nil && s.conn == c && s.timer == nil {
		s.broker.set(nil, false)
		s.timer = time.AfterFunc(time.Duration(s.linger.Load()), func() { r.end(c.name) })
	}
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
	if err := s.close(); err != nil {
		r.Logger.Error("cannot end every command of a session", "error", err)
	}
	s.end()
}

// noticeLoss makes the kernel end a connection that is not answered for 13 s. On Linux that
// holds while bytes wait to be sent too, and from 6.15 on they are repeated each second.
func noticeLoss(socket net.Conn) {
	const userTimeout, rtoMax = 18, 44 // TCP_USER_TIMEOUT, TCP_RTO_MAX_MS
	tcp, ok := socket.(*net.TCPConn)
	if !ok || tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 3 * time.Second, Count: 3}) != nil {
		return
	}
	if conn, err := tcp.SyscallConn(); err == nil && runtime.GOOS == "linux" {
		_ = conn.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, userTimeout, 13000)
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, rtoMax, 1000)
		})
	}
}
