//go:build !linux

package shared

// exitWatch cannot tell on this system: the connection's end will.
type exitWatch struct{}

func watchExit(int) *exitWatch { return nil }

func (*exitWatch) exited() bool { return false }

func (*exitWatch) close() {}
