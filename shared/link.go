package shared

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/muxconn"
)

// link is a connection to a plugin, and the plugin's process if that is ours to end.
// Each way to reach a plugin, launch and attach, makes a link.
type link struct {
	bash     *client
	pid      int // of the plugin
	conn     *muxconn.Conn
	protocol *plugin.RPCClient
	instance *instance.Instance // nil: the plugin is not ours to end
}

// dial connects to a plugin, with TLS if config is not nil, and gets its Bash,
// unless ctx ends first. The plugin's log goes to log.
func dial(ctx context.Context, network, address string, config *tls.Config, log io.Writer) (*link, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if config != nil {
		socket = tls.Client(socket, config)
	}
	l := &link{conn: muxconn.New(socket)}
	stop := context.AfterFunc(ctx, l.hangUp) // a plugin under a debugger may not answer
	err = l.dispense(log)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		l.hangUp()
		return nil, err
	}
	return l, nil
}

func (l *link) dispense(log io.Writer) (err error) {
	if l.protocol, err = plugin.NewRPCClient(l.conn, Plugins); err != nil {
		return err
	}
	if err := l.protocol.SyncStreams(io.Discard, log); err != nil {
		return err
	}
	bash, err := l.protocol.Dispense(PluginName)
	if err != nil {
		return err
	}
	l.bash = bash.(*client)
	return nil
}

func (l *link) hangUp() { _ = l.conn.Close() }

// isGone reports whether no call can be made any more: the connection has ended,
// with the plugin's process or for another reason.
func (l *link) isGone() bool { return isClosed(l.conn.Ended()) }

// kill ends a plugin that is gone or does not answer. It does not wait.
func (l *link) kill() {
	if l.instance != nil {
		l.instance.Kill()
	}
	l.hangUp()
}

// lost adds to the ErrCrashed of a call under way what that means for its command.
func (l *link) lost(err error) error {
	if l.instance == nil {
		return err
	}
	text := err.Error() + "; its commands are ended (that of a call under way may have run), and the next call starts a fresh plugin"
	if l.bash.logs != "" {
		text += "; what was logged is in " + l.bash.logs
	}
	return &Error{Code: CodeCrashed, Message: text}
}

// Bounds of Close.
const (
	closePatience = 2 * time.Second         // for the plugin to end its commands
	quitPatience  = 1 * time.Second         // for the plugin to end by itself after that
	endPatience   = 4800 * time.Millisecond // in all, until the guardian has ended what the plugin left
)

// end ends the commands, the plugin and the connection, by request at first and then
// by SIGKILL. If it returns nil, nothing is left.
func (l *link) end() error {
	begin := time.Now()
	answered, err := l.endCommands()
	if answered {
		late := time.AfterFunc(quitPatience, l.kill)
		defer late.Stop()
		_ = l.protocol.Close() // the plugin quits
		l.hangUp()
	} else {
		l.kill()
	}
	if l.instance != nil && !l.instance.AwaitEnd(endPatience-time.Since(begin)) {
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin (pid %d) or one of its commands could not be ended in time", l.pid)}
	}
	return err
}

// endCommands makes the plugin end its commands, if the plugin is ours to end. It
// returns whether the plugin answered, and the error that it answered with.
func (l *link) endCommands() (answered bool, err error) {
	if l.instance == nil || l.isGone() {
		return false, nil
	}
	done := make(chan error, 1)
	go func() { done <- l.bash.close(context.Background()) }()
	select {
	case err = <-done:
	case <-time.After(closePatience):
		return false, nil
	}
	if errors.Is(err, ErrCrashed) {
		return false, nil
	}
	return true, err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
