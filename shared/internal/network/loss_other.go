//go:build !linux

package network

import "net"

// boundSilence does nothing: only Linux has such a bound.
func boundSilence(*net.TCPConn) {}
