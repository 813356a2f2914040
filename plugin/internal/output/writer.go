package output

import (
	"sync"

	"bashplugin/plugin/internal/sanitize"
)

const (
	writeSize = 64 << 10 // raw bytes that a Stream handles at a time

	// fillSize is how much text may wait for the disk before the command has to wait,
	// too. The text of one more write may come on top.
	fillSize = 4 * writeSize

	// blockSize is the unit in which the log grows while more text is coming: writes
	// that are not aligned cost the system more.
	blockSize = 64 << 10
)

// buffer holds nearly every fill; a larger one is allocated.
type buffer [fillSize + writeSize]byte

// buffers are the buffers of all logs: an idle log has none.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// logWriter writes a stream's text to its log. It has no goroutine: the caller of
// Stream.flush writes, without the Stream's mutex.
type logWriter struct {
	disk sync.Mutex // held while the log is written; taken before the Stream's mutex; guards file
	file logFile

	// The Stream's mutex guards the fields below.
	fill    []byte // finished text that is not in the file; nil: none
	problem string // why the log is incomplete, "" if it is complete
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
	n := sanitize.CutRune(w.fill, int(max(0, end-end%block-w.file.size)))
	if n == 0 {
		return nil
	}
	text := w.fill
	w.fill = nil
	w.appendLocked(text[n:])
	return text[:n]
}

// flush writes to the log, if there is one and least bytes or more wait for it:
// whole blocks, and the line being written behind them if line is true. It
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

// takeText takes the text for the log, whole blocks of it, and the line being written if line
// is true. last says that no more text comes.
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
