package shared

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
)

// The live copy travels on a stream of its own that the plugin dials, in
// frames: a kind (one byte), a length (four bytes, big endian) and the bytes. The host
// begins with how many bytes of frames it has from connections before (eight bytes).
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
	maxFrame    = 256 << 10 // bytes of output in one frame
	liveWindow  = 256 << 10 // that a stream of the multiplexer takes before the host has read it
)

var errNoReader = errors.New("the live output has no reader any more")

// liveSender is the plugin's side of a live copy. Write on one of its writers
// blocks while the host is slow or away; the implementation of Bash must allow for that.
type liveSender struct {
	resumes bool // over the next connection: it keeps the frames that the host may not have read

	mu    sync.Mutex // held while a frame is written; guards the fields below
	ready *sync.Cond // conn or over has changed
	conn  net.Conn   // nil: none at present
	over  bool       // the host takes no more
	kept  []byte     // the last frames, the newest of which may be on their way
	start int64      // where in all frames kept begins
	frame []byte     // the last frame; its memory is reused
	open  int        // the writers in use, and one more until the call returns
}

// newLiveSender makes the sender for the host's receiver under this number.
func newLiveSender(s *session, id uint32) *liveSender {
	l := &liveSender{resumes: s.calls.keeps, open: 1}
	l.ready = sync.NewCond(&l.mu)
	go l.run(s, id)
	return l
}

// run connects to the receiver, again after each loss of the connection.
func (l *liveSender) run(s *session, id uint32) {
	for broker := s.broker.after(nil); broker != nil && !l.connect(broker, id) && l.resumes; broker = s.broker.after(nil) {
		time.Sleep(10 * time.Millisecond) // until the session knows that the connection is lost
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.ready.Broadcast()
}

// connect sends what the host lacks, and lets the writers send the rest. It returns true
// when the host hangs up, and false if the connection is lost.
func (l *liveSender) connect(broker *plugin.MuxBroker, id uint32) (done bool) {
	conn, err := dialHost(broker, id)
	if err != nil {
		return false
	}
	defer conn.Close()
	var position [8]byte
	if _, err := io.ReadFull(conn, position[:]); err != nil {
		return false
	}
	l.mu.Lock()
	from := int64(binary.BigEndian.Uint64(position[:])) - l.start
	if done = from < 0 || from > int64(len(l.kept)); !done {
		_, _ = conn.Write(l.kept[from:])
		l.conn = conn
		l.ready.Broadcast()
	}
	l.mu.Unlock()
	n, _ := conn.Read(position[:1]) // returns when the host hangs up or the connection ends
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = nil
	return done || n == 1
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
	for l.conn == nil && !l.over {
		l.ready.Wait()
	}
	if l.over {
		return errNoReader
	}
	l.frame = append(l.frame[:0], kind)
	l.frame = binary.BigEndian.AppendUint32(l.frame, uint32(len(p)))
	l.frame = append(l.frame, p...)
	_, err := l.conn.Write(l.frame)
	if !l.resumes {
		return err
	}
	const most = liveWindow + frameHeader + maxFrame // the host may have read a part of a frame
	if surplus := len(l.kept) - most; surplus > most {
		l.kept = append(l.kept[:0], l.kept[surplus:]...)
		l.start += int64(surplus)
	}
	l.kept = append(l.kept, l.frame...)
	if err != nil { // the next connection gets the frame
		l.conn = nil
	}
	return nil
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
