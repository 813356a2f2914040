package shared

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
)

// Live output travels on a stream of its own, in frames: the writer it is for
// (one byte), a length (four bytes, big endian) and the bytes. A frame for
// nobody says that the call has returned, the next one that nothing more comes;
// then the host closes the stream. Closed by the plugin, it would lose what a
// host has not read within the multiplexer's 5 min.
const (
	toNobody = 0
	toStdout = 1
	toStderr = 2

	// liveIDs sets the streams that the host numbers apart from those that the
	// plugin does.
	liveIDs = 1 << 31

	frameHeader = 5
	maxFrame    = 1 << 20
)

var errNoReader = errors.New("nobody reads the live output any more")

// liveSender is the plugin's side. Its writers wait for a reader who is slow;
// the implementation behind them must not.
type liveSender struct {
	ready chan struct{} // conn is set, nil where the host is gone
	conn  net.Conn
	ended chan struct{} // closed with conn
	users atomic.Int32  // the call and the writers, until they end

	write  sync.Mutex // held while a frame is written; guards what follows
	frame  []byte     // the last one, for its memory
	frames int        // so far
	over   bool       // ended is closed

	last sync.Once // nothing more comes
}

// acceptLive begins to wait for the host, which may be stopped when it has
// called. Were it the host that waits, it would wake up to a time that is over.
func acceptLive(broker *plugin.MuxBroker, id uint32, isGone func() bool) *liveSender {
	l := &liveSender{ready: make(chan struct{}), ended: make(chan struct{})}
	l.users.Store(1)
	go func() {
		conn, err := acceptStream(broker, id, isGone)
		if err == nil {
			l.conn = conn
		}
		close(l.ready)
		if err == nil {
			_, _ = conn.Read(make([]byte, 1)) // the host wants no more, or is gone
			l.close()
		}
	}()
	return l
}

// finish says that nothing more comes. The host closes the stream then.
func (l *liveSender) finish() {
	l.last.Do(func() { go func() { _ = l.send(toNobody, nil) }() })
}

// close ends the stream between two frames.
func (l *liveSender) close() {
	<-l.ready
	l.write.Lock()
	defer l.write.Unlock()
	if !l.over {
		l.over, l.frame = true, nil
		close(l.ended)
		if l.conn != nil {
			l.conn.Close()
		}
	}
}

func (l *liveSender) writer(to byte, whole bool) io.Writer {
	l.users.Add(1)
	w := &frameWriter{live: l, to: to}
	if whole {
		return WholeOutput{w}
	}
	return w
}

// returned says that the call is over, and what it came to: nil where that is an
// error. Unless a writer goes on, the stream ends; where nothing was started
// there is none.
func (l *liveSender) returned(r *Result) {
	go func() {
		_ = l.send(toNobody, nil)
		if r == nil || r.PID == 0 {
			l.users.Store(1)
		}
		l.release()
		if r != nil && r.Status != StatusRunning && len(r.Leftover) == 0 {
			l.endIdle()
		}
	}()
}

// idleTime is how long no output of a command that is over means its end, where
// an implementation does not tell.
const idleTime = 5 * time.Second

// endIdle ends the stream when there is nothing more to come.
func (l *liveSender) endIdle() {
	for last := -1; ; {
		select {
		case <-l.ended:
			return
		case <-time.After(idleTime):
		}
		if !l.write.TryLock() {
			continue // a slow reader
		}
		idle := l.frames == last
		last = l.frames
		l.write.Unlock()
		if idle {
			l.finish()
			return
		}
	}
}

func (l *liveSender) release() {
	if l.users.Add(-1) == 0 {
		l.finish()
	}
}

// send writes one frame.
func (l *liveSender) send(to byte, p []byte) error {
	<-l.ready
	if l.conn == nil {
		return errNoReader
	}
	l.write.Lock()
	defer l.write.Unlock()
	l.frame = append(l.frame[:0], to)
	l.frame = binary.BigEndian.AppendUint32(l.frame, uint32(len(p)))
	l.frame = append(l.frame, p...)
	l.frames++
	_, err := l.conn.Write(l.frame)
	return err
}

type frameWriter struct {
	live  *liveSender
	to    byte
	ended sync.Once
}

// Write sends p in frames.
func (w *frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), maxFrame)]
		if err := w.live.send(w.to, part); err != nil {
			return n, err
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// EndOutput says that nothing more comes.
func (w *frameWriter) EndOutput() { w.ended.Do(w.live.release) }
