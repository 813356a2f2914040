package network

import (
	"net"
	"time"
)

// NoticeLoss makes the kernel end a connection that is not answered for 13 s. On Linux that
// holds while bytes wait to be sent too, and from 6.15 on they are repeated each second.
func NoticeLoss(socket net.Conn) {
	tcp, ok := socket.(*net.TCPConn)
	if !ok {
		return
	}
	keepAlive := net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 3 * time.Second, Count: 3}
	if tcp.SetKeepAliveConfig(keepAlive) == nil {
		boundSilence(tcp)
	}
}
