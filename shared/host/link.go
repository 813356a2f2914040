package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/muxconn"
)

// link is a connection to a plugin, and the plugin's process if that is ours to end.
// Each way to reach a plugin, launch, attach and Connect, makes a link.
type link struct {
	bash   session
	held   bool // the plugin was started by hand, and may be under a debugger
	pid    int  // of the plugin; of one on another machine a negative number
	hangUp func()

	// isGone reports whether no call can be made any more: the connection has ended,
	// with the plugin's process or for another reason, and none takes its place.
	isGone func() bool

	protocol *plugin.RPCClient  // nil: of a plugin on another machine
	instance *instance.Instance // nil: the plugin's process is not ours to end
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
	conn := muxconn.New(socket)
	l := &link{isGone: conn.HasEnded, hangUp: func() { _ = conn.Close() }}
	err = during(ctx, conn, func() error {
		bash, err := l.dispense(conn, shared.Plugins, log)
		if err == nil {
			l.bash = bash.(session)
		}
		return err
	})
	return l, err
}

// during makes the first calls on a connection, unless ctx ends first: a plugin under a
// debugger may not answer. If they fail, the connection is closed.
func during(ctx context.Context, conn *muxconn.Conn, calls func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err := calls()
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
	}
	return err
}

func (l *link) dispense(conn *muxconn.Conn, plugins plugin.PluginSet, log io.Writer) (_ any, err error) {
	if l.protocol, err = plugin.NewRPCClient(conn, plugins); err != nil {
		return nil, err
	}
	if err := l.protocol.SyncStreams(io.Discard, log); err != nil {
		return nil, err
	}
	return l.protocol.Dispense(shared.PluginName)
}

// kill ends a plugin that is gone or does not answer. It does not wait.
func (l *link) kill() {
	if l.instance != nil {
		l.instance.Kill()
	}
	l.hangUp()
}

// lost adds to the ErrCrashed of a call under way what that means for its command.
func (l *link) lost(err error) error {
	text := err.Error()
	switch {
	case l.held:
		return err
	case l.instance == nil:
		text += "; the plugin ends the session's commands by itself (that of a call under way may have run), and the next call begins another session"
	default:
		text += "; its commands are ended (that of a call under way may have run), and the next call starts a fresh plugin"
	}
	if logs := l.bash.Logs(); logs != "" {
		text += "; what was logged is in " + logs
	}
	return &shared.Error{Code: shared.CodeCrashed, Message: text}
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
		if l.protocol != nil {
			_ = l.protocol.Close() // the plugin quits
		}
		l.hangUp()
	} else {
		if l.protocol == nil && !l.isGone() {
			err = &shared.Error{Code: shared.CodeCrashed, Message: "there is no connection to the plugin now: it ends the session's commands after Linger"}
		}
		l.kill()
	}
	if l.instance != nil && !l.instance.AwaitEnd(endPatience-time.Since(begin)) {
		return &shared.Error{Code: shared.CodeInternal, Message: fmt.Sprintf("the plugin (pid %d) or one of its commands could not be ended in time", l.pid)}
	}
	return err
}

// endCommands makes the plugin end its commands, unless it was started by hand. It
// returns whether the plugin answered, and the error that it answered with.
func (l *link) endCommands() (answered bool, err error) {
	if l.held || l.isGone() {
		return false, nil
	}
	done := make(chan error, 1)
	go func() { done <- l.bash.EndCommands(context.Background()) }()
	select {
	case err = <-done:
	case <-time.After(closePatience):
		return false, nil
	}
	if errors.Is(err, shared.ErrCrashed) {
		return false, nil
	}
	return true, err
}
