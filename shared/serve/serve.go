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

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/muxconn"
)

// Serve serves p to the host that started this process until the host is done
// with it. An error says that there is no host, or why it cannot be served.
//
// Serve is plugin.Serve for this contract, with the same protocol and environment
// and two differences. It does not take a host for dead that Ctrl-Z or a debugger
// has stopped for a while. And it does not redirect the process's stdout and
// stderr, except that if p has a Log, stderr becomes the null device once the host
// knows the address, because commands could write to it through /proc.
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
	_, err = fmt.Printf("%d|%d|unix|%s|%s|%s\n", plugin.CoreProtocolVersion, shared.Handshake.ProtocolVersion, listener.Addr(), plugin.ProtocolNetRPC, cert)
	if err != nil {
		return fmt.Errorf("the host is gone: %w", err)
	}
	if p.Log != nil {
		if err := dropStderr(); err != nil {
			return err
		}
	}
	quit := make(chan struct{})
	server := &plugin.RPCServer{
		Plugins: plugin.PluginSet{shared.PluginName: p},
		Stdout:  io.MultiReader(), // always empty
		Stderr:  cmp.Or(p.Log, io.MultiReader()),
		DoneCh:  quit,
	}
	failed := make(chan error, 1)
	go func() { failed <- accept(listener, config, server) }()
	select {
	case <-quit:
		return nil
	case err := <-failed:
		return err
	}
}

// accept serves each connection until the listener fails.
func accept(listener net.Listener, config *tls.Config, server *plugin.RPCServer) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("cannot accept a connection: %w", err)
		}
		if config != nil {
			conn = tls.Server(conn, config)
		}
		go server.ServeConn(muxconn.New(conn))
	}
}
