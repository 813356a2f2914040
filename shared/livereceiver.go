package shared

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"bashplugin/shared/internal/half"
)

// liveRest is how long Execute waits for the rest of the live copy once the plugin
// has answered. The plugin waits as long for bytes that it has not sent yet.
const liveRest = 500 * time.Millisecond

// liveReceiver is the host's side of a live copy: one goroutine that gives
// frames to the request's writers until the copy ends or every writer has
// failed.
type liveReceiver struct {
	id      uint32
	writers map[byte]io.Writer // by kind of frame; without those that have failed
	arrived chan struct{}      // closed when everything sent before the call's end is written
	arrive  func()             // closes it
	stopped chan struct{}      // closed when the call has failed: no Write may begin any more
	turn    chan struct{}      // a lock, held during a Write

	position int64 // how many bytes of frames were handled
}

// receiveLive starts a liveReceiver. It returns nil for a request without
// writers.
func (c *client) receiveLive(n number, stdout, stderr io.Writer) *liveReceiver {
	if stdout == nil && stderr == nil {
		return nil
	}
	l := &liveReceiver{
		id:      1<<31 | uint32(n.Call), // on every line
		writers: map[byte]io.Writer{frameStdout: stdout, frameStderr: stderr},
		arrived: make(chan struct{}),
		stopped: make(chan struct{}),
		turn:    make(chan struct{}, 1),
	}
	l.arrive = sync.OnceFunc(func() { close(l.arrived) })
	maps.DeleteFunc(l.writers, func(_ byte, w io.Writer) bool { return w == nil })
	if at, _ := c.line.get(); !c.Resumes {
		l.id = at.Broker.NextId() // the line may have other clients
	}
	go l.run(c)
	return l
}

func (l *liveReceiver) run(c *client) {
	defer l.arrive()
	for at := c.line.after(half.Line{}); at.Broker != nil; at = c.line.after(at) {
		conn, err := l.accept(c, at)
		if err == nil {
			_, _ = conn.Write(binary.BigEndian.AppendUint64(nil, uint64(l.position)))
			if err = l.copy(conn); !errors.Is(err, errLost) || !c.Resumes {
				l.arrive()
			}
			hangUp(conn)
		}
		if !errors.Is(err, errLost) || !c.Resumes {
			return
		}
	}
}

// hangUp asks the plugin to stop and discards the frames that still arrive.
// Otherwise the multiplexer would complain about them on stderr.
func hangUp(conn net.Conn) {
	_, _ = conn.Write([]byte{0})
	_, _ = io.Copy(io.Discard, conn)
	conn.Close()
}

// accept waits for the plugin, unless the call fails. The broker gives up after 5 s,
// and a plugin may be slower.
func (l *liveReceiver) accept(c *client, at half.Line) (net.Conn, error) {
	for {
		conn, err := at.Broker.Accept(l.id)
		if err == nil || isClosed(l.stopped) {
			return conn, err
		}
		if now, over := c.line.get(); now != at || over {
			return nil, errLost
		}
	}
}

// errLost ends a live copy whose connection was lost before its last frame.
var errLost = errors.New("the connection is lost")

// copy passes frames to their writers until the last frame comes.
func (l *liveReceiver) copy(conn io.Reader) error {
	var header [frameHeader]byte
	var frame []byte
	for {
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return errLost
		}
		size := binary.BigEndian.Uint32(header[1:])
		switch kind := header[0]; {
		case kind == frameEnd:
			return nil
		case size > maxFrame || kind == 0 || kind > frameEnd:
			return errors.New("malformed frame")
		case kind == frameReturned:
			l.arrive()
		}
		frame = slices.Grow(frame[:0], int(size))[:size]
		if _, err := io.ReadFull(conn, frame); err != nil {
			return errLost
		}
		if err := l.write(header[0], frame); err != nil {
			return err
		}
		l.position += frameHeader + int64(size)
	}
}

// write passes on one frame. It returns an error if no writer is left.
func (l *liveReceiver) write(kind byte, p []byte) error {
	w := l.writers[kind]
	if w == nil {
		return nil
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if isClosed(l.stopped) {
		return errNoReader
	}
	if n, err := w.Write(p); err != nil || n < len(p) {
		if delete(l.writers, kind); len(l.writers) == 0 {
			return errNoReader
		}
	}
	return nil
}

// wait waits until the output from before the call's end has arrived, for rest at
// most.
func (l *liveReceiver) wait(ctx context.Context, rest time.Duration) {
	if l == nil {
		return
	}
	select {
	case <-l.arrived:
	case <-ctx.Done():
	case <-time.After(rest):
	}
}

// stop ends the copy of a call that has failed: no Write begins after it. It waits
// for a Write under way, but not for a stuck one.
func (l *liveReceiver) stop() {
	if l == nil {
		return
	}
	close(l.stopped)
	select {
	case l.turn <- struct{}{}:
		<-l.turn
	case <-time.After(liveRest):
	}
}
