package shared

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/hashicorp/go-plugin"
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
	stopped chan struct{}      // closed when the call has failed: no Write may begin any more
	turn    chan struct{}      // a lock, held during a Write
}

// receiveLive starts a liveReceiver. It returns nil for a request without
// writers.
func receiveLive(broker *plugin.MuxBroker, stdout, stderr io.Writer) *liveReceiver {
	if stdout == nil && stderr == nil {
		return nil
	}
	l := &liveReceiver{
		id:      broker.NextId(),
		writers: map[byte]io.Writer{frameStdout: stdout, frameStderr: stderr},
		arrived: make(chan struct{}),
		stopped: make(chan struct{}),
		turn:    make(chan struct{}, 1),
	}
	maps.DeleteFunc(l.writers, func(_ byte, w io.Writer) bool { return w == nil })
	go l.run(broker)
	return l
}

func (l *liveReceiver) run(broker *plugin.MuxBroker) {
	conn, err := l.accept(broker)
	if err == nil {
		defer hangUp(conn)
		err = l.copy(conn, frameReturned)
	}
	close(l.arrived)
	if err == nil {
		_ = l.copy(conn, frameEnd)
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
func (l *liveReceiver) accept(broker *plugin.MuxBroker) (net.Conn, error) {
	for {
		conn, err := broker.Accept(l.id)
		if err == nil || isClosed(l.stopped) {
			return conn, err
		}
	}
}

// copy passes frames to their writers until a frame of kind last comes.
func (l *liveReceiver) copy(conn io.Reader, last byte) error {
	var header [frameHeader]byte
	var frame []byte
	for {
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(header[1:])
		if header[0] == last {
			return nil
		}
		if size > maxFrame || header[0] == 0 || header[0] > frameStderr {
			return errors.New("malformed frame")
		}
		frame = slices.Grow(frame[:0], int(size))[:size]
		if _, err := io.ReadFull(conn, frame); err != nil {
			return err
		}
		if err := l.write(header[0], frame); err != nil {
			return err
		}
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
