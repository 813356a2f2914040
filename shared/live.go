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
// frameReturned says that Execute has returned and all earlier bytes have been
// sent; frameEnd says that nothing more comes. After frameEnd the host closes the
// stream, and then the plugin does: if the plugin closed first, the multiplexer
// would drop the bytes that a slow host has not read.
const (
	frameStdout   = 1
	frameStderr   = 2
	frameReturned = 3
	frameEnd      = 4

	frameHeader = 5
	maxFrame    = 1 << 20 // bytes of output in one frame
)

var errNoReader = errors.New("the live output has no reader any more")

// liveSender is the plugin's side of a live copy. Write on one of its writers
// blocks while the host is slow; the implementation of Bash must allow for that.
type liveSender struct {
	mu    sync.Mutex // held while a frame is written; guards the fields below
	conn  net.Conn
	frame []byte // the last frame; its memory is reused
	open  int    // the writers in use, and one more until the call returns
}

// dialLive connects to the host's receiver.
func dialLive(broker *plugin.MuxBroker, id uint32) (*liveSender, error) {
	conn, err := broker.Dial(id)
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // returns when the host hangs up or dies
		conn.Close()
	}()
	return &liveSender{conn: conn, open: 1}, nil
}

// writer returns a writer for one kind of frame. The writer ends with CloseWrite,
// or when the implementation has dropped it and it is garbage collected.
func (l *liveSender) writer(kind byte) io.Writer {
	l.open++
	w := &frameWriter{live: l, kind: kind, end: sync.OnceFunc(l.release)}
	runtime.AddCleanup(w, func(end func()) { go end() }, w.end)
	return w
}

// returned tells the host that the call has returned. If nothing was started, the
// copy ends as well.
func (l *liveSender) returned(r *Result) {
	_ = l.send(frameReturned, nil)
	if r == nil || r.PID == 0 {
		_ = l.send(frameEnd, nil)
		return
	}
	l.release()
}

// release counts the end of the call or of a writer. The last one ends the copy.
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

// frameWriter stands for a request's writer in the plugin.
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

// CloseWrite ends the writer.
func (w *frameWriter) CloseWrite() error {
	w.end()
	return nil
}
