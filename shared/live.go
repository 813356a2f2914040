package shared

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"bashplugin/shared/internal/session"
)

// The live copy travels in the session's stream for the call, in frames: a kind (one byte), a length (four
// bytes, big endian) and the bytes.
//
//	plugin: job ► frameWriter ► liveSender ──── stream ────► liveReceiver ► writer :host
//
// frameReturned says that Execute has returned, and that all earlier bytes have come.
const (
	frameStdout   = 1
	frameStderr   = 2
	frameReturned = 3

	frameHeader = 5
	maxFrame    = 256 << 10 // bytes of output in one frame
)

// liveRest is how long Execute waits for the rest of the live copy once the plugin
// has answered. The plugin waits as long for bytes that it has not sent yet.
const liveRest = 500 * time.Millisecond

var errNoReader = errors.New("the live output has no reader any more")

// liveSender is the plugin's side of a live copy. Write on one of its writers
// blocks while the host is slow or away; the implementation of Bash must allow for that.
type liveSender struct {
	stream *session.Stream

	// mu guards the fields below. It is held while a frame is written.
	mu sync.Mutex

	frame []byte // the last frame; its memory is reused

	// open counts the writers in use, and one more until the call returns.
	open int
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
		_ = l.stream.Close()
		return
	}
	l.release()
}

// release counts the end of the call or of a writer. The last one ends the copy.
func (l *liveSender) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.open == 0 {
		_ = l.stream.Close()
	}
}

func (l *liveSender) send(kind byte, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frame = append(l.frame[:0], kind)
	l.frame = binary.BigEndian.AppendUint32(l.frame, uint32(len(p)))
	l.frame = append(l.frame, p...)
	_, err := l.stream.Write(l.frame)
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
	for part := range slices.Chunk(p, maxFrame) {
		err := w.live.send(w.kind, part)
		if err != nil {
			return n, errNoReader
		}
		n += len(part)
	}
	return n, nil
}

// CloseWrite ends the writer.
func (w *frameWriter) CloseWrite() error {
	w.end()
	return nil
}

// liveReceiver is the host's side of a live copy: it gives the bytes of frames to the request's writers
// until the copy ends or every writer has failed.
type liveReceiver struct {
	stream *session.Reader

	// writers are by kind of frame, without those that have failed.
	writers map[byte]io.Writer

	// arrived is closed when everything sent before the call's end is written.
	arrived chan struct{}
	arrive  func() // closes arrived

	// stopped is closed when the call has failed: no Write may begin any more.
	stopped chan struct{}

	turn chan struct{} // a lock, held during a Write

	// header is of the frame that is coming, as far as it has come.
	header []byte
	kind   byte
	body   int // bytes of it still to come
}

// receiveLive starts a liveReceiver.
func receiveLive(stream *session.Reader, stdout, stderr io.Writer) *liveReceiver {
	l := &liveReceiver{
		stream:  stream,
		writers: make(map[byte]io.Writer),
		arrived: make(chan struct{}),
		stopped: make(chan struct{}),
		turn:    make(chan struct{}, 1),
	}
	l.arrive = sync.OnceFunc(func() { close(l.arrived) })
	if stdout != nil {
		l.writers[frameStdout] = stdout
	}
	if stderr != nil {
		l.writers[frameStderr] = stderr
	}
	go func() {
		_ = stream.Copy(l)
		l.arrive()
	}()
	return l
}

// Write takes the next bytes of frames.
func (l *liveReceiver) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		if l.body > 0 {
			n := min(l.body, len(p))
			err := l.pass(p[:n])
			if err != nil {
				return 0, err
			}
			l.body -= n
			p = p[n:]
			continue
		}
		n := min(frameHeader-len(l.header), len(p))
		l.header = append(l.header, p[:n]...)
		p = p[n:]
		if len(l.header) == frameHeader {
			err := l.begin()
			if err != nil {
				return 0, err
			}
		}
	}
	return all, nil
}

// begin begins the frame whose header has come.
func (l *liveReceiver) begin() error {
	l.kind = l.header[0]
	size := binary.BigEndian.Uint32(l.header[1:])
	l.header = l.header[:0]
	if size > maxFrame || l.kind < frameStdout || l.kind > frameReturned {
		return errors.New("malformed frame")
	}
	l.body = int(size)
	if l.kind == frameReturned {
		l.arrive()
	}
	return nil
}

// pass passes on a part of a frame. It returns an error if no writer is left.
func (l *liveReceiver) pass(p []byte) error {
	w := l.writers[l.kind]
	if w == nil {
		return nil
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if isClosed(l.stopped) {
		return errNoReader
	}
	n, err := w.Write(p)
	if err == nil && n == len(p) {
		return nil
	}
	delete(l.writers, l.kind)
	if len(l.writers) == 0 {
		return errNoReader
	}
	return nil
}

// wait waits until the output from before the call's end has arrived, for rest at
// most.
func (l *liveReceiver) wait(ctx context.Context, rest time.Duration) {
	select {
	case <-l.arrived:
	case <-ctx.Done():
	case <-time.After(rest):
	}
}

// stop ends the copy of a call that has failed: no Write begins after it. It waits
// for a Write under way, but not for a stuck one.
func (l *liveReceiver) stop() {
	close(l.stopped)
	l.stream.Close()
	select {
	case l.turn <- struct{}{}:
		<-l.turn
	case <-time.After(liveRest):
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
