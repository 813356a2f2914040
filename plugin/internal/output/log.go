package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"bashplugin/plugin/internal/sanitize"
)

// logFile is the file that holds a stream from its first byte on:
//
//	finished text │ the line being written, as it was when a Result last named the log
//	            size                                                             end
//
// The file stops for good at the first byte that the bounds or the disk do not
// allow, so that it is always an unbroken beginning of the stream. One goroutine
// at a time may use it.
type logFile struct {
	logs   *Logs
	name   string
	file   *os.File   // nil: not made yet
	reader *logReader // nil: not made yet
	size   int64
	end    int64
	closed bool

	// stop says why the file takes no more text. It is nil while the file takes text.
	stop error
}

// update appends finished text, and after it the line being written. Either may be
// nil.
func (l *logFile) update(text, line []byte) {
	if l.file == nil && l.stop == nil {
		l.create()
	}
	if l.stop == nil && len(text) > 0 {
		l.append(text)
	}
	if l.stop == nil && !l.closed && line != nil {
		room := max(0, l.logs.cfg.MaxBytes-l.size)
		_, l.stop = l.put(line[:sanitize.CutRune(line, int(room))])
	}
}

func (l *logFile) create() {
	l.reader, l.stop = l.logs.create(l.name)
	if l.stop == nil {
		l.file = l.reader.file
	}
}

// append appends finished text, as far as the bounds and the disk allow.
func (l *logFile) append(p []byte) {
	allowed, reason := l.logs.allow(l.size, len(p))
	n, err := l.put(p[:sanitize.CutRune(p, allowed)])
	l.size += int64(n)
	err = cmp.Or(err, reason)
	if err != nil {
		l.stop = fmt.Errorf("the log ends after %d bytes: %w", l.size, cause(err))
	}
}

// put writes p after the finished text and cuts the file there.
func (l *logFile) put(p []byte) (int, error) {
	if _, err := l.file.Seek(l.size, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := l.file.Write(p) // WriteAt does not count what it wrote before the disk was full
	end := l.size + int64(n)
	if l.end > end {
		errTruncate := l.file.Truncate(end)
		err = cmp.Or(err, errTruncate)
	}
	l.end = end
	return n, err
}

// close closes the file, which is kept.
func (l *logFile) close() {
	if l.file == nil || l.closed {
		return
	}
	l.closed = true
	l.logs.finished(l.name, l.size)
	if err := l.file.Close(); err != nil && l.stop == nil {
		l.stop = fmt.Errorf("the log could not be closed: %w", cause(err))
	}
}

// state returns the reader of the file, nil if there is none, and why the file takes no
// more text, "" while it takes text.
func (l *logFile) state() (reader *logReader, problem string) {
	if l.stop != nil {
		problem = l.stop.Error()
	}
	return l.reader, problem
}

// cause strips the path off an error: the Result has the path already.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}
