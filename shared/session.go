package shared

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
)

// session is one plugin process and the connection to it.
type session struct {
	plugin   *plugin.Client // its process; nil where that is not ours to end
	log      *endingLog
	conn     *muxConn
	protocol *plugin.RPCClient
	bash     Bash
	pid      int
	kill     func()      // kills the process, if it has not ended
	exit     *exitWatch  // nil before watch
	dead     atomic.Bool // a call found the plugin gone
	end      sync.Once
	ended    chan struct{} // nothing of it is left, or err says what is
	err      error         // of the plugin's own Close; set once ended is closed
}

// connect starts the plugin. It leaves conn nil where there is nobody to
// connect to.
func (s *session) connect(config *plugin.ClientConfig) error {
	addr, err := s.plugin.Start()
	if err != nil {
		return err
	}
	if s.conn, err = dialMux(addr, config.TLSConfig); err != nil { // AutoMTLS has set it
		return err
	}
	s.protocol, s.bash, err = dispense(s.conn)
	return err
}

// watch makes gone see the process's end before a call is sent into the void,
// and calls see that it is stopped.
func (s *session) watch(pid int) {
	s.pid = pid
	s.exit = watchExit(pid)
	if c, ok := s.bash.(*client); ok {
		c.stopped = func() bool { return isStopped(pid) }
	}
}

func (s *session) gone() bool { return s.dead.Load() || s.exit.exited() }

// isOver reports whether nothing of it is left.
func (s *session) isOver() bool { return isClosed(s.ended) }

// bury ends what is left of a plugin that is gone or does not answer. The
// guardian, its second process, ends the commands.
func (s *session) bury() {
	s.dead.Store(true)
	s.end.Do(func() { go s.over(s.terminate) })
}

// over ends everything by one of the ways below.
func (s *session) over(end func()) {
	defer close(s.ended)
	end()
	s.dead.Store(true)
	if s.exit != nil {
		s.exit.close()
	}
}

// terminate kills the plugin and waits for the guardian's end. Of a plugin that
// is not ours it only hangs up.
func (s *session) terminate() {
	if s.plugin != nil {
		s.kill()
	}
	if s.conn != nil {
		s.conn.Close()
	}
	s.clear()
}

// clear has go-plugin clear up behind the process, once that has ended.
func (s *session) clear() {
	if s.plugin == nil {
		return
	}
	for s.conn != nil && !s.plugin.Exited() { // which go-plugin tells only when asked
		time.Sleep(time.Millisecond)
	}
	s.log.ending.Store(true)
	s.plugin.Kill()
}

// Bounds of Close, which add up to less than 5 s.
const (
	closePatience = 2 * time.Second         // for the plugin to end its commands
	quitPatience  = 1 * time.Second         // for the plugin to end by itself after that
	killPatience  = 1500 * time.Millisecond // for the guardian to end what a killed plugin left
)

// close ends the commands, the plugin and the connection, first kindly.
func (s *session) close() {
	s.end.Do(func() { go s.over(s.shut) })
}

// await waits for the end, which has begun. When it returns nil, nothing is left.
func (s *session) await() error {
	if isClosedWithin(s.ended, closePatience+quitPatience+killPatience) {
		return s.err
	}
	plugin := "a plugin that did not start"
	if s.pid != 0 {
		plugin = fmt.Sprintf("the plugin (pid %d)", s.pid)
	}
	return &Error{CodeInternal, plugin + " or one of its commands could not be ended in time"}
}

func (s *session) shut() {
	if s.plugin == nil {
		s.terminate()
		return
	}
	var answered bool
	if answered, s.err = s.endCommands(); !answered {
		s.terminate()
		return
	}
	late := time.AfterFunc(quitPatience, s.kill)
	defer late.Stop()
	_ = s.protocol.Close() // the plugin quits
	s.conn.Close()
	s.clear()
}

// endCommands reports whether the plugin answered, and what.
func (s *session) endCommands() (answered bool, err error) {
	c, ok := s.bash.(*client)
	if !ok || s.gone() {
		return false, nil
	}
	done := make(chan error, 1)
	go func() { done <- c.close(context.Background()) }()
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
