package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// maxStrangers is how many connections may wait for the other side to show its certificate, which
// takes a host milliseconds. Fewer may wait if that would be more than a quarter of the descriptors
// that this process may have: the rest is for commands.
const maxStrangers = 1024

// handshakePatience is how long a connection may wait for that.
const handshakePatience = 10 * time.Second

// lobby holds the connections whose other side has not shown its certificate yet. Once it is full,
// each new one displaces the one that has waited longest, so that silent connections keep no host
// out. The zero value is empty; a lobby is safe for concurrent use.
type lobby struct {
	mu      sync.Mutex // guards waiting
	waiting []net.Conn // the oldest first
}

// enter takes a connection, and closes the oldest one if there are too many.
func (l *lobby) enter(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, conn)
	if len(l.waiting) > min(maxStrangers, descriptors()/4) {
		l.waiting[0].Close()
		l.waiting = l.waiting[1:]
	}
}

// leave takes a connection out, if it is still in.
func (l *lobby) leave(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(waiting net.Conn) bool { return waiting == conn })
}

func handshake(conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), handshakePatience)
	defer cancel()
	return conn.HandshakeContext(ctx)
}

// isPassing reports whether accept may succeed later: the system is short of descriptors or memory
// for now, or the other side has given that connection up.
func isPassing(err error) bool {
	for _, passing := range []error{
		syscall.EMFILE,
		syscall.ENFILE,
		syscall.ENOBUFS,
		syscall.ENOMEM,
		syscall.ECONNABORTED,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}
