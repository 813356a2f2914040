package output

import (
	"bytes"
	"sync"
)

const (
	writeSize = 64 << 10 // raw bytes that a Stream handles at a time

	// fillSize is how much text waits for the disk before a command has to wait,
	// too. The text of one write may come on top.
	fillSize = 4 * writeSize

	// blockSize is what the log grows by while more text is coming: the system
	// writes parts of a page more slowly.
	blockSize = 4 << 10
)

// fills are the buffers of all logs: an idle one has none.
var fills = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, fillSize+writeSize)) }}

// logWriter brings a stream's text to its log. The goroutine that needs the log
// to go on writes it, without the Stream's mutex.
type logWriter struct {
	disk sync.Mutex // held while the log is written, and taken before the Stream's mutex; guards file
	file logFile

	// The Stream's mutex guards what follows.
	fill    *bytes.Buffer // finished text that is not in the file; nil: none
	path    string        // of the log, "" where there is none
	problem string        // why the log is incomplete, "" where it is not
}

// appendLocked takes finished text.
func (w *logWriter) appendLocked(p []byte) {
	if w.problem != "" || len(p) == 0 {
		return
	}
	if w.fill == nil {
		w.fill = fills.Get().(*bytes.Buffer)
	}
	w.fill.Write(p)
}

// waitingLocked returns how much text waits for the disk.
func (w *logWriter) waitingLocked() int {
	if w == nil || w.fill == nil {
		return 0
	}
	return w.fill.Len()
}

// takeLocked returns text for the log, nil where there is none. The log has
// whole blocks then. The caller holds disk, too.
func (w *logWriter) takeLocked(block int64) *bytes.Buffer {
	end := w.file.size + int64(w.waitingLocked())
	n := end - end%block - w.file.size
	if n <= 0 {
		return nil
	}
	text := w.fill
	w.fill = nil
	w.appendLocked(text.Bytes()[n:])
	text.Truncate(int(n))
	return text
}

// flush brings the log, if there is one, up to date: its text has whole blocks
// then, and the line being written follows if line is true. It waits for the
// disk, and returns the log's path and why it is incomplete.
func (s *Stream) flush(block int64, line bool) (path, problem string) {
	s.mu.Lock()
	w := s.log
	s.mu.Unlock()
	if w == nil {
		return "", ""
	}
	w.disk.Lock()
	defer w.disk.Unlock()
	s.mu.Lock()
	var rest []byte
	if line {
		rest = append([]byte{}, s.san.Line()...)
	}
	text, last := w.takeLocked(block), s.ended && w.fill == nil
	s.mu.Unlock()
	w.file.update(text, rest)
	if last {
		w.file.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.path, w.problem = w.file.path(), w.file.problem()
	return w.path, w.problem
}

// sync waits until the log, if there is one, has everything.
func (s *Stream) sync() (path, problem string) { return s.flush(1, true) }

// named returns the log's path, if there is a log, and why it is incomplete.
// It waits for the disk only until the file is made.
func (s *Stream) named() (path, problem string) {
	s.mu.Lock()
	w := s.log
	if w != nil {
		path, problem = w.path, w.problem
	}
	s.mu.Unlock()
	if w != nil && path == "" && problem == "" {
		return s.sync()
	}
	return path, problem
}
