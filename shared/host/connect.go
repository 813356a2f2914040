package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/rpc"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/half"
	"bashplugin/shared/internal/muxconn"
	"bashplugin/shared/internal/network"
)

// ConnectConfig says which plugin on another machine to use. Address and TLS are required.
type ConnectConfig struct {
	Address string      // host:port
	TLS     *tls.Config // the host's certificate, and in RootCAs the CA of the plugin's (LoadTLS makes it); ServerName "": the host of Address

	Dir     string        // where commands run, on the plugin's machine; "": the plugin's directory
	Env     []string      // KEY=VALUE, over the plugin's environment
	DropEnv []string      // names or path.Match patterns ("*_API_KEY") that commands do not get
	Linger  time.Duration // how long calls and jobs outlive a lost connection; 0: they end at once; at most what the plugin allows

	Logger         hclog.Logger  // says how the connection fares; nil: none. The plugin keeps its own log
	ConnectTimeout time.Duration // 0: DefaultStartTimeout
}

// Connect connects to a plugin that serves on another machine (bash-plugin -listen) and
// returns a Client, which the caller must Close. The Client has a session of its own: its
// calls, jobs and pids are no other host's. Paths in requests and Results are those of the
// plugin's machine.
//
// A lost connection is noticed within 15 s and made again for as long as Linger. Calls wait
// meanwhile, and they and live copies go on where they stopped: no command runs twice, and no
// byte is lost or repeated. After that the plugin ends the session's commands, calls fail
// with ErrCrashed, and the next call begins another session. The same happens if Close is
// called without a connection. Errors and ctx are as with Launch; ErrClosed: the plugin takes no new hosts.
func Connect(ctx context.Context, cfg ConnectConfig) (*Client, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return open(ctx, cfg.reach)
}

func (cfg *ConnectConfig) complete() error {
	host, _, err := net.SplitHostPort(cfg.Address)
	switch {
	case err != nil:
		return invalid("Address", "the address is %q: use HOST:PORT", cfg.Address)
	case cfg.TLS == nil:
		return invalid("TLS", "there is no certificate of this host, which the plugin asks for: bash-plugin certs makes one")
	case cfg.ConnectTimeout < 0 || cfg.Linger < 0:
		return invalid("ConnectTimeout", "ConnectTimeout is %v and Linger %v: neither may be negative", cfg.ConnectTimeout, cfg.Linger)
	}
	cfg.TLS = cfg.TLS.Clone()
	cfg.TLS.ServerName = cmp.Or(cfg.TLS.ServerName, host)
	cfg.TLS.MinVersion, cfg.TLS.NextProtos = tls.VersionTLS13, []string{network.Protocol(shared.Handshake.ProtocolVersion)}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, DefaultStartTimeout)
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	return checkEnv(cfg.Env, cfg.DropEnv)
}

// reach begins a session.
func (cfg *ConnectConfig) reach(ctx context.Context) (*link, error) {
	attempt, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	args := openArgs{
		Session: rand.Text(),
		Linger:  cfg.Linger,
		Config:  shared.SessionConfig{Dir: cfg.Dir, Env: cfg.Env, DropEnv: cfg.DropEnv},
	}
	c := newSession()
	conn, err := cfg.dial(attempt, c, &args)
	switch {
	case err == nil:
		life, shut := context.WithCancel(context.Background())
		c.Configure(half.HostConfig{Resumes: args.Linger > 0})
		args.Again = true
		go cfg.keep(life, shut, c, conn, args)
		return &link{bash: c, pid: -int(time.Now().UnixNano()), isGone: func() bool { return life.Err() != nil }, hangUp: shut}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, cfg.explain(err)
}

// keep connects again whenever the connection is lost, until that takes longer than Linger,
// or life ends.
func (cfg *ConnectConfig) keep(life context.Context, shut func(), c session, conn *muxconn.Conn, args openArgs) {
	defer c.LoseLine(true)
	defer shut()
	for {
		select {
		case <-conn.Ended():
		case <-life.Done():
			_ = conn.Close()
			return
		}
		c.LoseLine(false)
		cfg.Logger.Info("the connection is lost", "address", cfg.Address)
		lost, err := time.Now(), io.EOF
		for ; err != nil; time.Sleep(100 * time.Millisecond) {
			if life.Err() != nil || time.Since(lost) >= args.Linger || errors.Is(err, shared.ErrNotFound) {
				return
			}
			conn, err = cfg.dial(life, c, &args)
		}
		cfg.Logger.Info("connected again", "address", cfg.Address)
	}
}

// dial makes a connection, opens the session on it and gives it to c. It sets how long the
// session lingers.
func (cfg *ConnectConfig) dial(ctx context.Context, c session, args *openArgs) (*muxconn.Conn, error) {
	patience := cfg.ConnectTimeout
	if args.Again {
		patience = time.Second // the kernel repeats an unanswered attempt more and more rarely
	}
	socket, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, err
	}
	network.NoticeLoss(socket)
	secure := tls.Client(socket, cfg.TLS)
	handshake, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	conn := muxconn.New(secure)
	err = during(handshake, conn, func() error {
		if err := secure.HandshakeContext(handshake); err != nil {
			return err
		}
		if _, err := secure.Read(make([]byte, 1)); err != nil { // nothing is sent before: it could displace an alert
			return err
		}
		dispensed, err := new(link).dispense(conn, plugin.PluginSet{shared.PluginName: bareLine{}}, io.Discard)
		if err != nil {
			return err
		}
		return c.Open(dispensed.(half.Line), args)
	})
	return conn, err
}

// bareLine dispenses a connection as it is, because several may belong to one session.
type bareLine struct{}

// Client is called by go-plugin.
func (bareLine) Client(broker *plugin.MuxBroker, conn *rpc.Client) (any, error) {
	return half.Line{Broker: broker, Conn: conn}, nil
}

// Server is never called.
func (bareLine) Server(*plugin.MuxBroker) (any, error) {
	return nil, errors.New("this is a host")
}

// explain says what to do about a failed connection.
func (cfg *ConnectConfig) explain(err error) error {
	text, field, advice := err.Error(), "Address", "does bash-plugin -listen serve there?"
	if ours, ok := errors.AsType[*shared.Error](err); ok {
		return ours
	}
	switch {
	case strings.Contains(text, "no application protocol"):
		advice = "the plugin speaks another version of the contract than this host: build both from one version"
	case strings.Contains(text, "remote error: tls: "):
		field, advice = "TLS", "the plugin refuses this host's certificate: see when it expires, and -tls-client-ca"
	case strings.Contains(text, "x509: "):
		field, advice = "TLS", "this host refuses the plugin's certificate: see when it expires, RootCAs and ServerName"
	case errors.Is(err, context.DeadlineExceeded):
		field, advice = "ConnectTimeout", "it does not answer in time: is the address right, and does a firewall drop packets?"
	}
	return launchError(field, err, "cannot connect to %s: %s (%s)", cfg.Address, advice, text)
}
