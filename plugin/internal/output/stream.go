package output

import (
	"bytes"
	"sync"
	"time"
	"unicode/utf8"
)

// DefaultTail is how many bytes a Stream keeps in memory where its
// configuration does not ask for more. It holds the default limits' worth.
const DefaultTail = 64 << 10

// floodChunk is the size of a chunk from which on more is expected at once, so
// that the log need not be up to date behind it.
const floodChunk = 64 << 10

// StreamConfig is what a Stream needs to know.
type StreamConfig struct {
	Logs *Logs
	Name string // of the log file
	Tail int    // bytes kept in memory, at least DefaultTail
	Head int    // bytes of the beginning kept in memory
}

// Stream is one output stream of a command, from raw bytes to what Results
// show of it. It is safe for concurrent use.
type Stream struct {
	cfg StreamConfig

	in  sync.Mutex // held while bytes go through; guards san and log; taken before mu
	san *Sanitizer
	log *Log // nil: the tail holds everything

	verbatim int64 // the first bytes written that were handed on as they came
	drafts   bool  // draft comes soon

	mu      sync.Mutex // guards what follows; never held while the log is written
	tail    tail
	head    []byte
	line    []byte // the line being written: a copy, since san changes under in alone
	lines   int64  // newlines in the tail's whole history
	last    byte   // the byte before tail.end
	shown   mark
	path    string
	pathErr error
	ended   bool
	changed chan struct{} // closed at the next change; nil: nobody waits
}

// NewStream returns an empty stream.
func NewStream(cfg StreamConfig) *Stream {
	s := &Stream{cfg: cfg}
	s.tail.max = max(cfg.Tail, DefaultTail)
	s.san = NewSanitizer(commit{s})
	return s
}

// Write takes raw bytes. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.in.Lock()
	defer s.in.Unlock()
	_, _ = s.san.Write(p)
	if !s.san.altered {
		s.verbatim = s.tail.end
	}
	if s.log != nil && len(p) < floodChunk {
		s.log.flush()
		s.draftSoon()
	}
	s.publish()
	return len(p), nil
}

// draftAfter is how long the log may lack the line that is being written.
const draftAfter = 200 * time.Millisecond

// draftSoon has draft called, if there is such a line. in is held.
func (s *Stream) draftSoon() {
	if !s.drafts && s.log != nil && s.log.stop == nil && len(s.san.Line()) > 0 {
		s.drafts = true
		time.AfterFunc(draftAfter, s.draft)
	}
}

// draft has the log hold the line that is being written: a prompt, for one. Who
// reads the file need not ask for a Result before.
func (s *Stream) draft() {
	s.in.Lock()
	defer s.in.Unlock()
	if s.drafts = false; s.hasEnded() {
		return
	}
	if s.flush(); s.log.stop == nil {
		_ = s.log.sketch(s.san.Line()) // Show tells
	}
}

// Verbatim returns how many of the first bytes written the log holds as they
// came, or is about to hold, whether these may become more, and the log: nil
// where there is none.
func (s *Stream) Verbatim() (log *Log, n int64, mayGrow bool) {
	s.in.Lock()
	defer s.in.Unlock()
	if s.log == nil {
		return nil, 0, true
	}
	return s.log, min(s.verbatim, s.log.taken), !s.san.altered && s.log.stop == nil
}

// Flush gives the log what a flood has written. A writer of large chunks calls
// it when the flood pauses; Close does, too.
func (s *Stream) Flush() {
	s.in.Lock()
	defer s.in.Unlock()
	s.flush()
	s.draftSoon()
}

func (s *Stream) flush() {
	if s.log != nil {
		s.log.flush()
		s.publish()
	}
}

// Close finishes the last line and the log.
func (s *Stream) Close() error {
	s.in.Lock()
	defer s.in.Unlock()
	if s.hasEnded() {
		return nil
	}
	_ = s.san.Close()
	if s.log != nil {
		s.log.close()
	}
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.publish()
	return nil
}

// Keep makes the log, which holds everything from now on.
func (s *Stream) Keep() {
	s.in.Lock()
	defer s.in.Unlock()
	s.keep()
	s.draftSoon()
	s.publish()
}

// commit is where the Sanitizer's finished text goes. It runs under in. It begins
// with the line being written: of the copy remains what follows the text, if
// that is the front of a long line.
type commit struct{ s *Stream }

func (c commit) Write(p []byte) (int, error) {
	s := c.s
	if s.log == nil && s.tail.end+int64(len(p)) > int64(s.tail.max) {
		s.keep()
	}
	if s.log != nil {
		s.log.write(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := s.cfg.Head + utf8.UTFMax - len(s.head); s.cfg.Head > 0 && room > 0 {
		s.head = append(s.head, p[:min(room, len(p))]...)
	}
	s.tail.write(p)
	s.lines += int64(bytes.Count(p, newline))
	if len(p) == 0 {
		return 0, nil
	}
	s.last = p[len(p)-1]
	rest := s.line[min(len(p), len(s.line)):]
	if s.last == '\n' {
		rest = nil
	}
	s.line = append(s.line[:0], rest...)
	return len(p), nil
}

// keep starts the log with what the tail holds. in is held; nobody else
// changes the tail.
func (s *Stream) keep() {
	if s.log != nil {
		return
	}
	log, err := s.cfg.Logs.create(s.cfg.Name)
	if err != nil {
		s.log = &Log{logs: s.cfg.Logs, stop: err} // stopped before its first byte
		return
	}
	log.write(s.tail.appendFrom(nil, s.tail.start(), s.tail.max))
	log.flush()
	if s.hasEnded() {
		log.close()
	}
	s.log = log
}

func (s *Stream) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// publish lets others see what in guards.
func (s *Stream) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = append(s.line[:0], s.san.Line()...)
	if s.log != nil {
		s.path, s.pathErr = s.log.path, s.log.stop
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
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

// Written reports whether the stream holds anything.
func (s *Stream) Written() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tail.end+int64(len(s.line)) > 0
}

// Ready waits until a Write does not have to wait for the disk.
func (s *Stream) Ready() {}
