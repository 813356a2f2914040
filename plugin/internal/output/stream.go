package output

import (
	"bytes"
	"slices"
	"sync"
	"weak"

	"bashplugin/plugin/internal/sanitize"
	"bashplugin/shared"
)

// DefaultTail is how many bytes a Stream keeps in memory unless its configuration
// asks for more. They are enough for the default limits.
const DefaultTail = 64 << 10

// StreamConfig configures a Stream.
type StreamConfig struct {
	Logs *Logs
	Name string // of the log file
	Tail int    // bytes kept in memory, at least DefaultTail
}

// Stream is one output stream of a command, from raw bytes to the text in Results.
// It is safe for concurrent use.
type Stream struct {
	cfg StreamConfig

	// mu guards the fields below. It is never held while a file is read or written.
	mu    sync.Mutex
	san   *sanitize.Sanitizer
	tail  tail  // of the finished text
	lines int64 // newlines in the finished text
	shown cursor
	ended bool

	// before is what had been shown before shownBy, the Result that showed the latest text. The
	// weak pointer does not keep that Result in memory.
	before  cursor
	shownBy weak.Pointer[shared.Result]

	// log is nil as long as the tail has all of the finished text.
	log *logWriter

	// changed is closed at the next change. It is nil if no caller waits for one.
	changed chan struct{}
}

// NewStream returns an empty stream.
func NewStream(cfg StreamConfig) *Stream {
	s := &Stream{cfg: cfg}
	s.tail.max = max(cfg.Tail, DefaultTail)
	s.san = sanitize.New(finished{s})
	return s
}

// Ready makes room in memory for one more Write of writeSize: if there is none, it
// writes to the log and waits for the disk.
func (s *Stream) Ready() { s.flush(fillSize-writeSize, blockSize, false) }

// Flush writes all finished text to the log and waits for the disk. It is called
// when the command writes nothing.
func (s *Stream) Flush() { s.flush(1, 1, false) }

// Write takes raw bytes, making room as Ready does. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	for chunk := range slices.Chunk(p, writeSize) {
		s.Ready()
		s.writeChunk(chunk)
	}
	return len(p), nil
}

func (s *Stream) writeChunk(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	panicked := true
	defer func() {
		if panicked { // the Sanitizer may be broken: replace it
			s.san = sanitize.New(finished{s})
		}
	}()
	_, _ = s.san.Write(p)
	panicked = false
	s.changeLocked()
}

// finished takes finished text from the Sanitizer. The mutex is held.
type finished struct{ s *Stream }

func (f finished) Write(p []byte) (int, error) {
	s := f.s
	if s.tail.end+int64(len(p)) > int64(s.tail.max) {
		s.keepLocked()
	}
	if s.log != nil {
		s.log.appendLocked(p)
	}
	s.tail.write(p)
	s.lines += int64(bytes.Count(p, newline))
	return len(p), nil
}

// Keep starts a log of the whole stream. It does not wait for the disk.
func (s *Stream) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepLocked()
}

// keepLocked starts the log with the finished text, which the tail still has.
func (s *Stream) keepLocked() {
	if s.log == nil {
		s.log = &logWriter{file: logFile{logs: s.cfg.Logs, name: s.cfg.Name}}
		s.log.appendLocked(s.tail.textFrom(0, 0))
	}
}

// Close finishes the last line and the log, and waits for the disk.
func (s *Stream) Close() error {
	s.finish()
	s.sync()
	return nil
}

func (s *Stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changeLocked()
	_ = s.san.Close()
}

// Changed returns a channel that is closed at the next change.
func (s *Stream) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *Stream) changeLocked() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Written reports whether the stream has any text.
func (s *Stream) Written() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tail.end > 0 || len(s.san.Line()) > 0
}

// totalsLocked returns the counts of the whole stream. The caller passes the line being
// written, because asking the Sanitizer for a long line several times costs much.
func (s *Stream) totalsLocked(line []byte) shared.Output {
	total := shared.Output{
		TotalBytes: s.tail.end + int64(len(line)),
		TotalLines: s.lines,
		Dropped:    s.san.Dropped(),
	}
	if len(line) > 0 || s.tail.end > 0 && !s.tail.endsInNewline() {
		total.TotalLines++
	}
	return total
}
