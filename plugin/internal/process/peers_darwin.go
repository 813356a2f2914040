package process

import "syscall"

// SignalPeer does nothing: no command is confined.
func (g *Group) SignalPeer(int, func() bool, int, syscall.Signal) (syscall.Errno, bool) {
	return 0, false
}

func (g *Group) hold() {}

func (g *Group) release() {}
