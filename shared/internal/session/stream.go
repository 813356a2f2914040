package session

import (
	"context"
	"errors"
	"sync"
)

// window bounds what a stream keeps: the bytes from the position that the host asked for last.
const window = 512 << 10

// errNoReader ends a stream whose host reads no more.
var errNoReader = errors.New("the live bytes have no reader any more")

// Stream is the plugin's end of a stream of live bytes: an io.WriteCloser. Write waits for
// a slow host, or one that is away.
type Stream struct {
	mu      sync.Mutex // guards the fields below
	changed sync.Cond
	kept    []byte
	start   int64 // position of the first byte of kept
	closed  bool  // by the writer
	dropped bool  // by the host, or with the session
}

func newStream() *Stream {
	s := new(Stream)
	s.changed.L = &s.mu
	return s
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.dropped || s.closed {
			return written, errNoReader
		}
		n := min(len(p)-written, window-len(s.kept))
		s.kept = append(s.kept, p[written:written+n]...)
		written += n
		s.changed.Broadcast()
		if written == len(p) {
			return written, nil
		}
		s.changed.Wait()
	}
}

// Close says that nothing more comes.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
	return nil
}

// drop makes Write fail.
func (s *Stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	s.kept = nil
	s.changed.Broadcast()
}

// read waits for bytes from a position on, at most until ctx ends. Those before the position are
// forgotten.
func (s *Stream) read(ctx context.Context, from int64, most int) (LiveReply, error) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		read := from - s.start
		switch {
		case s.dropped: // with the session, of which the host may not know yet
			return LiveReply{}, errNoReader
		case read < 0 || read > int64(len(s.kept)):
			return LiveReply{}, errors.New("the stream has no such position")
		case ctx.Err() != nil:
			return LiveReply{}, ctx.Err()
		}
		if read > 0 {
			s.kept = append(s.kept[:0], s.kept[read:]...)
			s.start = from
			s.changed.Broadcast()
		}
		switch {
		case len(s.kept) > 0:
			n := min(len(s.kept), max(1, most))
			return LiveReply{Bytes: append([]byte(nil), s.kept[:n]...)}, nil
		case s.closed:
			return LiveReply{End: true}, nil
		}
		s.changed.Wait()
	}
}
