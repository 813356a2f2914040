package executor

import (
	"syscall"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// signals lets the commands of a confined session signal each other: it carries out their
// calls of kill(2). The zero value is of a session that is not confined.
type signals struct {
	peers     *process.Peers
	listeners *confine.Listeners
}

func newSignals(session []shared.Confine) (s signals, err error) {
	if len(session) == 0 {
		return s, nil
	}
	s.peers = new(process.Peers)
	s.listeners, err = confine.NewListeners()
	return s, err
}

// begin begins to carry out the calls that a command's listener receives, each within guard.
// listener may be nil.
func (s signals) begin(listener *confine.Listener, g *process.Group, guard func(func())) {
	kill := func(thread int, waits func() bool, pid int, sig syscall.Signal) (errno syscall.Errno, done bool) {
		guard(func() { errno, done = g.SignalPeer(thread, waits, pid, sig) })
		return errno, done
	}
	s.listeners.Add(listener, kill)
}

// end is called when no process of the command lives.
func (s signals) end(listener *confine.Listener) { s.listeners.Remove(listener) }

// close is called when no command is left, or none that can be ended.
func (s signals) close() { s.listeners.Close() }
