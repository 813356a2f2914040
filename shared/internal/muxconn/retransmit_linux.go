package muxconn

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// retransmission is the longest time between the kernel's attempts to send what was lost. By
// default it doubles up to two minutes, so that a link that was away for 5 s would be used again
// seconds after its return.
const retransmission = time.Second

// retransmitSoon sets that time, on Linux 6.15 and later. The kernel must not give the connection
// up earlier than the Conn does.
func retransmitSoon(conn net.Conn, silence time.Duration) {
	under, ok := conn.(interface{ NetConn() net.Conn })
	if ok {
		conn = under.NetConn()
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(2*silence.Milliseconds()))
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_RTO_MAX_MS, int(retransmission.Milliseconds()))
	})
}
