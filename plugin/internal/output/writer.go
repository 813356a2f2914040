package output

import (
	"sync"

	"bashplugin/plugin/internal/sanitize"
)

const (
	writeSize = 64 << 10 // raw bytes that a Stream handles at a time

	// fillSize is how much text may wait for the disk. If there is more, the command has
	// to wait, too. The text of one more write may come on top.
	fillSize = 4 * writeSize

	// blockSize is the unit in which the log grows while more text is coming: writes
	// that are not aligned cost the system more.
	blockSize = 64 << 10
)

// buffer is large enough for nearly every fill; a larger fill is allocated.
type buffer [fillSize + writeSize]byte

// buffers are the buffers of all logs: an idle log has none.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// logWriter writes a stream's text to its log. It has no goroutine: the caller of
// Stream.flush writes, without the Stream's mutex.
type logWriter struct {
	// disk guards file and is held while the log is written. It is locked before the
	// Stream's mutex.
	disk sync.Mutex
	file logFile

	// The Stream's mutex guards the fields below.

	// fill is the finished text that is not in the file yet.
	fill []byte

	// problem says why the log is incomplete. It is "" while the log is complete.
	problem string
}

// appendLocked takes finished text.
func (w *logWriter) appendLocked(p []byte) {
	if w.problem != "" || len(p) == 0 {
		return
	}
	if w.fill == nil {
		w.fill = buffers.Get().(*buffer)[:0]
	}
	w.fill = append(w.fill, p...)
}

// takeLocked returns text that makes the log a multiple of block long, nil if there
// is too little. The caller holds disk, too.
func (w *logWriter) takeLocked(block int64) []byte {
	end := w.file.size + int64(len(w.fill))
	lastBlock := end - end%block
	n := sanitize.CutRune(w.fill, int(max(0, lastBlock-w.file.size)))
	if n == 0 {
		return nil
	}
	text := w.fill
	w.fill = nil
	w.appendLocked(text[n:])
	return text[:n]
}

// flush writes to the log, if there is one and at least this many bytes wait for it. It
// writes whole blocks and, if line is true, the line being written behind them. It
// returns the log, nil if there is none, and why it is incomplete.
func (s *Stream) flush(least int, block int64, line bool) (log *logReader, problem string) {
	s.mu.Lock()
	w := s.log
	idle := w == nil || len(w.fill) < least
	s.mu.Unlock()
	if idle {
		return nil, ""
	}
	w.disk.Lock()
	defer w.disk.Unlock()
	text, rest, last := s.takeText(w, block, line)
	w.file.update(text, rest)
	if cap(text) == len(buffer{}) {
		buffers.Put((*buffer)(text[:cap(text)]))
	}
	if last {
		w.file.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	log, w.problem = w.file.state()
	return log, w.problem
}

// takeText takes whole blocks of the text that waits for the log and, if line is true, a
// copy of the line being written. last says that no more text comes.
func (s *Stream) takeText(w *logWriter, block int64, line bool) (text, rest []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line {
		rest = append([]byte{}, s.san.Line()...)
	}
	text = w.takeLocked(block)
	return text, rest, s.ended && w.fill == nil
}

// sync writes everything so far to the log, if there is one.
func (s *Stream) sync() (log *logReader, problem string) { return s.flush(0, 1, true) }
