package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"bashplugin/shared"
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
	if s.log != nil && len(p) < floodChunk {
		s.log.flush()
	}
	s.publish()
	return len(p), nil
}

// Flush gives the log what a flood has written. A writer of large chunks calls
// it when the flood pauses; Close does, too.
func (s *Stream) Flush() {
	s.in.Lock()
	defer s.in.Unlock()
	s.flush()
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

// Show returns what a Result shows under the limits: everything so far, or
// only what no Result has shown. Either counts as shown. Where it shows less
// than everything, the log has the rest, the line being written included.
func (s *Stream) Show(limits shared.Limits, all bool) shared.Output {
	calm := s.in.TryLock() // a flood goes on otherwise, and its log follows
	if !calm && s.needsLog(limits, all) {
		s.in.Lock()
		calm = true
	}
	if calm {
		s.flush()
	}
	out, less, cutLine := s.show(limits, all)
	if less && !calm && (cutLine || out.Path == "" && out.PathError == "") {
		s.in.Lock()
		calm = true
	}
	if calm {
		if less {
			s.complete(&out)
		}
		s.in.Unlock()
	}
	if out.Path != "" {
		if _, err := os.Lstat(out.Path); err != nil {
			out.PathError = fmt.Sprintf("the log cannot be found any more: %v", cause(err))
		}
	}
	return out
}

// complete makes the log that a Result names hold everything. in is held.
func (s *Stream) complete(out *shared.Output) {
	s.keep()
	var err error
	if s.log.stop == nil {
		err = s.log.sketch(s.san.Line())
	}
	s.publish()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.describe(out); err != nil {
		out.PathError = err.Error()
	}
}

// needsLog reports whether a Result may show more than memory holds.
func (s *Stream) needsLog(limits shared.Limits, all bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := int64(0)
	if !all {
		from = s.fresh(s.shown)
	}
	end := s.tail.end + int64(len(s.line))
	return limits.Ends > 0 || max(from, end-int64(limits.MaxBytes)-floodChunk) < s.tail.start()
}

func (s *Stream) describe(out *shared.Output) {
	out.Path = s.path
	if s.pathErr != nil {
		out.PathError = s.pathErr.Error()
	}
}

// show reports besides whether the output is less than the whole stream, and
// whether a part of the line being written is missing in it.
func (s *Stream) show(limits shared.Limits, all bool) (out shared.Output, less, cutLine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := int64(0)
	if !all {
		from = s.fresh(s.shown)
	}
	end := s.tail.end + int64(len(s.line))
	out = shared.Output{TotalBytes: end, TotalLines: s.totalLines()}
	s.describe(&out)
	s.fill(&out, from, limits)
	s.shown = s.markNow()
	return out, from > 0 || out.Truncated, len(out.Content) < len(s.line)
}

func (s *Stream) totalLines() int64 {
	if len(s.line) > 0 || s.tail.end > 0 && s.last != '\n' {
		return s.lines + 1
	}
	return s.lines
}

// fill cuts what begins at from down to the limits.
func (s *Stream) fill(out *shared.Output, from int64, limits shared.Limits) {
	size := out.TotalBytes - from
	// One byte more than fits shows whether a line begins where the limit falls.
	text, begin := s.text(max(from, out.TotalBytes-int64(limits.MaxBytes)-1))
	c := cutTail(text, begin == from, limits.MaxLines, limits.MaxBytes)
	kept := text[c.from:]
	if ends := min(limits.Ends, limits.MaxBytes/2); c.by != "" && ends > 0 {
		c.partial = false
		if size <= int64(2*ends) {
			c, kept = cut{}, text
		} else {
			out.Head = s.headAt(from, ends)
			kept = text[runeStart(text, max(0, len(text)-ends)):]
		}
	}
	out.Content = string(kept)
	out.Truncated, out.TruncatedBy, out.LastLinePartial = c.by != "", c.by, c.partial
	out.OutputBytes = len(out.Head) + len(out.Content)
	out.OutputLines = countLines([]byte(out.Head)) + countLines(kept)
}

// text returns a copy of the stream from a position on, and that position,
// which is a later one where neither the tail nor the log holds the bytes.
func (s *Stream) text(from int64) ([]byte, int64) {
	start := s.tail.start()
	text := make([]byte, 0, max(0, s.tail.end-from)+int64(len(s.line)))
	if from < start {
		if text = append(text, s.readLog(from, int(start-from))...); int64(len(text)) < start-from {
			text, from = text[:0], start
		}
	}
	if at := max(from, start); at < s.tail.end {
		return append(s.tail.appendFrom(text, at, s.tail.max), s.line...), from
	}
	return append(text, s.line[from-s.tail.end:]...), from
}

// headAt returns up to n bytes that begin at from, cut at a rune's end, from
// wherever they still are.
func (s *Stream) headAt(from int64, n int) string {
	text := s.head
	if from > 0 || len(text) < n {
		if from < s.tail.start() {
			text = s.readLog(from, n+utf8.UTFMax)
		} else {
			text, _ = s.text(from)
		}
	}
	return string(text[:runeEnd(text, min(n, len(text)))])
}

// readLog reads up to n bytes of the log at from.
func (s *Stream) readLog(from int64, n int) []byte {
	if s.path == "" {
		return nil
	}
	file, err := os.Open(s.path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text := make([]byte, n)
	got, err := file.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return text[:got]
}
