package shared

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"

	"github.com/hashicorp/go-plugin"
)

// The live copy travels on a stream of its own that the plugin dials, in
// frames: a kind (one byte), a length (four bytes, big endian) and the bytes.
//
//	plugin: job ► frameWriter ► liveSender ──── frames ────► liveReceiver ► writer :host
//
// frameReturned says that Execute has returned and that everything from before
// has been sent, frameEnd that nothing more comes. After frameEnd the host closes
// the stream, and then the plugin does: if the plugin closed first, the
// multiplexer would drop what a slow host has not read.
const (
	frameStdout   = 1
	frameStderr   = 2
	frameReturned = 3
	frameEnd      = 4

	frameHeader = 5
	maxFrame    = 1 << 20 // bytes of output in one
)

var errNoReader = errors.New("the live output has no reader any more")

// liveSender is the plugin's side of a live copy. A Write of one of its writers
// waits for a slow host: the implementation behind them must not.
type liveSender struct {
	mu    sync.Mutex // held while a frame is written; guards what follows
	conn  net.Conn
	frame []byte // the last one, for its memory
	open  int    // writers, and the call until it returns
}

// dialLive connects to the host's receiver.
func dialLive(broker *plugin.MuxBroker, id uint32) (*liveSender, error) {
	conn, err := broker.Dial(id)
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // until the host wants no more, or is gone
		conn.Close()
	}()
	return &liveSender{conn: conn, open: 1}, nil
}

// writer returns a writer for one kind of frames. It ends by CloseWrite, or when
// the implementation does not hold it any more.
func (l *liveSender) writer(kind byte) io.Writer {
	l.open++
	w := &frameWriter{live: l, kind: kind, end: sync.OnceFunc(l.release)}
	runtime.AddCleanup(w, func(end func()) { go end() }, w.end)
	return w
}

// returned says that the call is over. Where nothing was started, that is the
// end of the copy.
func (l *liveSender) returned(r *Result) {
	_ = l.send(frameReturned, nil)
	if r == nil || r.PID == 0 {
		_ = l.send(frameEnd, nil)
		return
	}
	l.release()
}

// release takes note that the call or a writer has ended.
func (l *liveSender) release() {
	l.mu.Lock()
	l.open--
	last := l.open == 0
	l.mu.Unlock()
	if last {
		_ = l.send(frameEnd, nil)
	}
}

func (l *liveSender) send(kind byte, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frame = append(l.frame[:0], kind)
	l.frame = binary.BigEndian.AppendUint32(l.frame, uint32(len(p)))
	l.frame = append(l.frame, p...)
	_, err := l.conn.Write(l.frame)
	return err
}

// frameWriter is what an implementation gets for a request's writer.
type frameWriter struct {
	live *liveSender
	kind byte
	end  func()
}

// Write sends p in frames.
func (w *frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), maxFrame)]
		if err := w.live.send(w.kind, part); err != nil {
			return n, errNoReader
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// CloseWrite says that nothing more comes.
func (w *frameWriter) CloseWrite() error {
	w.end()
	return nil
}
