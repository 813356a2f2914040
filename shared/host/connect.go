package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/shared"
	"bashplugin/shared/internal/session"
)

// ConnectConfig says which plugin on another machine to use. Address and TLS are required.
type ConnectConfig struct {
	Address string // host:port

	// TLS has the host's certificate and, in RootCAs, the CA of the plugin's certificate. LoadTLS makes
	// it. ServerName "" means the host of Address.
	TLS *tls.Config

	// Dir is where commands run, on the plugin's machine. "": in the plugin's directory.
	Dir string

	Env []string // KEY=VALUE, over the plugin's environment

	// DropEnv has names or path.Match patterns ("*_API_KEY") of variables that commands do not get.
	DropEnv []string

	// Confine and Resources hold in addition to the plugin's own, for every command. Relative paths begin
	// at Dir, on the plugin's machine. nil and zero: the plugin's own.
	Confine   *shared.Confine
	Resources shared.Resources

	// Linger is how long calls and jobs outlive a lost connection, at most as long as the plugin allows.
	// 0: they end at once.
	Linger time.Duration

	// Logger gets a line when the connection is lost or made again; nil: none. The plugin keeps its
	// own log.
	Logger hclog.Logger

	ConnectTimeout time.Duration // 0: DefaultStartTimeout
}

// Connect connects to a plugin that serves on another machine (bash-plugin -listen) and
// returns a Client, which the caller must Close. The Client has a session of its own, with its own
// calls, jobs and pids. Paths in requests and Results are those of the plugin's machine.
//
// A lost connection is noticed within 15 s and made again for as long as Linger. Calls wait
// meanwhile, and they and live copies go on where they stopped: no command runs twice, and no
// byte is lost or repeated. After Linger the plugin ends the session's commands, calls fail
// with ErrCrashed, and the next call begins another session. If Close is called while the
// connection is lost, the plugin also ends the session's commands after Linger. Errors and
// ctx are as with Launch; ErrClosed: the plugin takes no new hosts.
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
		return invalid("TLS",
			"there is no certificate of this host, which the plugin asks for: bash-plugin certs makes one")
	case cfg.ConnectTimeout < 0 || cfg.Linger < 0:
		return invalid("ConnectTimeout",
			"ConnectTimeout is %v and Linger %v: neither may be negative", cfg.ConnectTimeout, cfg.Linger)
	}
	cfg.TLS = cfg.TLS.Clone()
	cfg.TLS.ServerName = cmp.Or(cfg.TLS.ServerName, host)
	cfg.TLS.MinVersion = tls.VersionTLS13
	cfg.TLS.NextProtos = []string{fmt.Sprint("bash-plugin/", shared.Handshake.ProtocolVersion)}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, DefaultStartTimeout)
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	settings := cfg.settings()
	return cmp.Or(settings.Confine.Validate(), settings.Validate())
}

// reach begins a session.
func (cfg *ConnectConfig) reach(ctx context.Context) (*link, error) {
	attempt, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	l := &link{id: -int(time.Now().UnixNano())}
	var err error
	l.session, l.bash, l.logs, err = shared.OpenSession(attempt, session.Config{
		Dial:    cfg.dial,
		Linger:  cfg.Linger,
		Silence: session.Silence,
		Changed: cfg.say,
	}, cfg.settings())
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, cfg.explain(err)
}

// settings are what the plugin is to keep.
func (cfg *ConnectConfig) settings() shared.SessionConfig {
	settings := shared.SessionConfig{Dir: cfg.Dir, Env: cfg.Env, DropEnv: cfg.DropEnv, Resources: cfg.Resources}
	if cfg.Confine != nil {
		settings.Confine = *cfg.Confine
	}
	return settings
}

// say logs that the connection is lost or made again.
func (cfg *ConnectConfig) say(lost bool) {
	if lost {
		cfg.Logger.Info("the connection is lost", "address", cfg.Address)
		return
	}
	cfg.Logger.Info("connected again", "address", cfg.Address)
}

// dialPatience bounds one attempt to reach the plugin's machine: the kernel repeats a lost first
// packet at longer and longer intervals.
const dialPatience = 5 * time.Second

// dial makes a connection that both sides have accepted.
func (cfg *ConnectConfig) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialPatience}
	socket, err := dialer.DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(socket, cfg.TLS)
	err = secure.HandshakeContext(ctx)
	if err == nil {
		err = readVersion(ctx, secure)
	}
	if err != nil {
		socket.Close()
		return nil, err
	}
	return secure, nil
}

// readVersion reads the plugin's first byte: the version of the contract that it speaks. The host
// sends nothing before: otherwise the plugin's refusal of the host's certificate could be lost.
func readVersion(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var version [1]byte
	_, err := conn.Read(version[:])
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	if uint(version[0]) != shared.Handshake.ProtocolVersion {
		message := "the plugin speaks another version of the contract than this host, and " +
			shared.Older(int(version[0]))
		return &shared.Error{Code: shared.CodeStart, Message: message, Field: "Address"}
	}
	return nil
}

// explain says what to do about a failed connection.
func (cfg *ConnectConfig) explain(err error) error {
	if ours, ok := errors.AsType[*shared.Error](err); ok {
		return ours
	}
	text := err.Error()
	field := "Address"
	advice := "does bash-plugin -listen serve there?"
	switch {
	case strings.Contains(text, "no application protocol"):
		advice = "the plugin speaks another version of the contract than this host: build both from one version"
	case strings.Contains(text, "remote error: tls: "):
		field = "TLS"
		advice = "the plugin refuses this host's certificate: see when it expires, and -tls-client-ca"
	case strings.Contains(text, "x509: "):
		field = "TLS"
		advice = "this host refuses the plugin's certificate: see when it expires, RootCAs and ServerName"
	case errors.Is(err, context.DeadlineExceeded):
		field = "ConnectTimeout"
		advice = "it does not answer in time: is the address right, and does a firewall drop packets?"
	}
	return launchError(field, err, "cannot connect to %s: %s (%s)", cfg.Address, advice, text)
}
