package shared

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/muxconn"
)

// link is a connection to a plugin, and the plugin's process where that is ours to
// end. Each way to reach a plugin makes one: launch and attach.
type link struct {
	bash     Bash
	pid      int // of the plugin
	conn     *muxconn.Conn
	protocol *plugin.RPCClient
	instance *instance.Instance // nil: the plugin is not ours to end
	close    func() error       // end, once; the others wait for it
}

// newLink gets a Bash from the plugin at the other end of conn, unless ctx ends
// before. The plugin's log goes to log. It closes conn where it fails.
func newLink(ctx context.Context, conn *muxconn.Conn, log io.Writer) (*link, error) {
	hangUp := func() { conn.Close() }
	stop := context.AfterFunc(ctx, hangUp) // a plugin that a debugger holds does not answer
	protocol, bash, err := dispense(conn, log)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		hangUp()
		return nil, err
	}
	l := &link{bash: bash, conn: conn, protocol: protocol}
	l.close = sync.OnceValue(l.end)
	return l, nil
}

func dispense(conn *muxconn.Conn, log io.Writer) (*plugin.RPCClient, Bash, error) {
	protocol, err := plugin.NewRPCClient(conn, Plugins)
	if err != nil {
		return nil, nil, err
	}
	if err := protocol.SyncStreams(io.Discard, log); err != nil {
		return nil, nil, err
	}
	bash, err := protocol.Dispense(PluginName)
	if err != nil {
		return nil, nil, err
	}
	return protocol, bash.(Bash), nil
}

// isGone reports whether no call can be made any more. The end of the connection
// alone tells: it is also the end of a process.
func (l *link) isGone() bool { return isClosed(l.conn.Ended()) }

// isOver reports whether nothing of the plugin is left.
func (l *link) isOver() bool { return l.isGone() && isClosed(l.ended()) }

// ended is closed when nothing of the plugin is left. The guardian, its second
// process, ends the commands of one that was killed.
func (l *link) ended() <-chan struct{} {
	if l.instance == nil {
		return l.conn.Ended()
	}
	return l.instance.Ended()
}

// bury ends a plugin that is gone or does not answer. It does not wait.
func (l *link) bury() {
	if l.instance != nil {
		l.instance.Kill()
	}
	l.conn.Close()
}

// Bounds of Close, which add up to less than 5 s.
const (
	closePatience = 2 * time.Second         // for the plugin to end its commands
	quitPatience  = 1 * time.Second         // for the plugin to end by itself after that
	killPatience  = 1500 * time.Millisecond // for the guardian to end what a killed plugin left
)

// end ends the commands, the plugin and the connection, first kindly. When it
// returns nil, nothing is left.
func (l *link) end() error {
	answered, err := l.endCommands()
	bound, cancel := context.WithTimeout(context.Background(), quitPatience+killPatience)
	defer cancel()
	if answered {
		late := time.AfterFunc(quitPatience, l.bury)
		defer late.Stop()
		_ = l.protocol.Close() // the plugin quits
		l.conn.Close()
	} else {
		l.bury()
	}
	select {
	case <-l.ended():
		return err
	case <-bound.Done():
		l.instance.Abandon()
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin (pid %d) or one of its commands could not be ended in time", l.pid)}
	}
}

// endCommands has the plugin end its commands, where it is ours to end. It reports
// whether the plugin answered, and what.
func (l *link) endCommands() (answered bool, err error) {
	if l.instance == nil || l.isGone() {
		return false, nil
	}
	done := make(chan error, 1)
	go func() { done <- l.bash.(*client).close(context.Background()) }()
	select {
	case err = <-done:
		if errors.Is(err, ErrCrashed) {
			return false, nil
		}
		return true, err
	case <-time.After(closePatience):
		return false, nil
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func isClosedWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
