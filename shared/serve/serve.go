package serve

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/muxconn"
)

// Configurer is a Bash that keeps the settings of a session: Configure is called when a host connects,
// before the first command, with what the host asks for. An error, such as an *Error with the name of the
// setting as its Field, is the error of the host's Launch. A Bash that is no Configurer refuses all
// settings but a Dir that is this process's.
type Configurer interface {
	Configure(shared.SessionConfig) error
}

// Serve serves p to the host that started this process until the host is done
// with it. An error says that there is no host, or why it cannot be served.
//
// Serve is plugin.Serve for this contract, with the same protocol and environment
// and three differences. A host that Ctrl-Z or a debugger has stopped for a while does not count as
// dead. Serve does not redirect the process's stdout and stderr, except that if p has a Log, stderr
// becomes the null device once the host knows the address, because commands could write to it through
// /proc. And with mutual TLS Serve listens only until its host has connected.
func Serve(p *shared.Plugin) error {
	if os.Getenv(shared.Handshake.MagicCookieKey) != shared.Handshake.MagicCookieValue {
		return errors.New("this is a plugin: a host has to start it, with hashicorp/go-plugin")
	}
	dir := cmp.Or(os.Getenv(plugin.EnvUnixSocketDir), os.TempDir())
	listener, err := net.Listen("unix", filepath.Join(dir, "plugin"+rand.Text()[:8]))
	if err != nil {
		return fmt.Errorf("cannot make a socket: %w", err)
	}
	defer listener.Close()
	config, cert, err := mutualTLS(os.Getenv("PLUGIN_CLIENT_CERT"))
	if err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // a terminal's Ctrl-C is for the host
	_, err = fmt.Printf("%d|%d|unix|%s|%s|%s\n", plugin.CoreProtocolVersion,
		shared.Handshake.ProtocolVersion, listener.Addr(), plugin.ProtocolNetRPC, cert)
	if err != nil {
		return fmt.Errorf("the host is gone: %w", err)
	}
	if p.Log != nil {
		err := dropStderr()
		if err != nil {
			return err
		}
	}
	quit := make(chan struct{})
	local := &local{config: config, server: &plugin.RPCServer{
		Plugins: plugin.PluginSet{shared.PluginName: p},
		Stdout:  io.MultiReader(), // always empty
		Stderr:  cmp.Or(p.Log, io.MultiReader()),
		DoneCh:  quit,
	}}
	failed := make(chan error, 1)
	go func() { failed <- accept(listener, &local.lobby, local.serve, func(error) {}) }()
	for {
		select {
		case <-quit:
			return nil
		case err := <-failed:
			if !errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("cannot accept a connection: %w", err)
			}
			failed = nil // the host has connected
		}
	}
}

// local serves hosts on this machine.
type local struct {
	// config is nil where connections are not encrypted, and anybody may make one.
	config *tls.Config

	server *plugin.RPCServer
	lobby  lobby

	anybody atomic.Int64 // connections without TLS
}

// serve serves one connection. Once a host has shown its certificate, no other is taken.
func (l *local) serve(listener net.Listener, socket net.Conn) {
	defer l.lobby.leave(socket)
	if l.config == nil {
		l.serveAnybody(socket)
		return
	}
	conn := tls.Server(socket, l.config)
	err := handshake(conn)
	if err != nil {
		socket.Close()
		return
	}
	l.lobby.leave(socket)
	listener.Close()
	l.server.ServeConn(muxconn.New(conn, 0))
}

// maxAnybody is how many connections are served at a time without mutual TLS.
const maxAnybody = 64

// serveAnybody serves a host without mutual TLS. A later connection never displaces an earlier one.
func (l *local) serveAnybody(socket net.Conn) {
	l.lobby.leave(socket)
	defer l.anybody.Add(-1)
	if l.anybody.Add(1) > maxAnybody {
		socket.Close()
		return
	}
	l.server.ServeConn(muxconn.New(socket, 0))
}

// accept serves each connection, which enters the lobby, until the listener is closed, or fails for good.
func accept(listener net.Listener, lobby *lobby, serve func(net.Listener, net.Conn), say func(error)) error {
	for {
		socket, err := listener.Accept()
		if err == nil {
			lobby.enter(socket)
			go serve(listener, socket)
			continue
		}
		if !isPassing(err) {
			return err
		}
		say(err)
		time.Sleep(100 * time.Millisecond)
	}
}
