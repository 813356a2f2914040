//go:build !linux

package muxconn

import (
	"net"
	"time"
)

// retransmitSoon does nothing: only Linux can bound the time between retransmissions.
func retransmitSoon(net.Conn, time.Duration) {}
