package network

import (
	"net"

	"golang.org/x/sys/unix"
)

// boundSilence ends the connection if bytes that were sent stay without an answer.
func boundSilence(tcp *net.TCPConn) {
	conn, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 13000)
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_RTO_MAX_MS, 1000)
	})
}
