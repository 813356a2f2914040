package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
)

const (
	writeSize = 64 << 10 // raw bytes that a Stream handles at a time

	// fillSize is how much text waits for the disk before a command has to wait,
	// too. The text of one write may come on top.
	fillSize = 4 * writeSize
)

// fills are the buffers of all logs: an idle one has none.
var fills = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, fillSize+writeSize)) }}

// logWriter writes the file that holds a stream from its first byte on. It
// stops for good at the first byte that the bounds or the disk do not allow, so
// that the file is always an unbroken beginning of the stream:
//
//	finished text │ the line being written, as it was when somebody asked for it
//	            size                                                           end
//
// A goroutine (run) lives while there is something to write. It writes one
// buffer while the next one fills.
type logWriter struct {
	logs *Logs
	name string
	line func() []byte // returns the line being written, under the mutex

	// Used by run alone.
	file      *os.File // nil: not made yet
	size, end int64    // positions in it

	cond     *sync.Cond    // signals changes; its lock is the Stream's mutex, which guards what follows
	fill     *bytes.Buffer // text for the file; nil: none
	running  bool          // run is
	closing  bool          // nothing more comes
	asked    int           // how often somebody has asked for a file that is up to date
	answered int           // how many of them have it
	path     string        // "" where there is no file
	stop     error         // why the file gets no more
}

func newLogWriter(logs *Logs, name string, mu *sync.Mutex, line func() []byte) *logWriter {
	return &logWriter{logs: logs, name: name, line: line, cond: sync.NewCond(mu)}
}

// appendLocked takes finished text.
func (l *logWriter) appendLocked(p []byte) {
	if l.stop != nil || len(p) == 0 {
		return
	}
	if l.fill == nil {
		l.fill = fills.Get().(*bytes.Buffer)
	}
	l.fill.Write(p)
	l.wakeLocked()
}

// waitForRoomLocked waits until one more write fits.
func (l *logWriter) waitForRoomLocked() {
	for l.fill != nil && l.fill.Len() > fillSize-writeSize {
		l.cond.Wait()
	}
}

// askLocked asks for a file that is up to date. It does not wait.
func (l *logWriter) askLocked() {
	if !l.closing {
		l.asked++
		l.wakeLocked()
	}
}

// syncLocked waits until the file has everything, the line being written
// included, or will not get it.
func (l *logWriter) syncLocked() {
	l.askLocked()
	l.waitForLocked(l.asked)
}

// waitForLocked waits for the answer to a question.
func (l *logWriter) waitForLocked(asked int) {
	for l.answered < asked {
		l.cond.Wait()
	}
}

// closeLocked has the file closed once it has everything. It does not wait.
func (l *logWriter) closeLocked() {
	l.askLocked()
	l.closing = true
}

// problemLocked says why the file is incomplete, "" where it is not.
func (l *logWriter) problemLocked() string {
	if l.stop == nil {
		return ""
	}
	return l.stop.Error()
}

func (l *logWriter) wakeLocked() {
	if !l.running {
		l.running = true
		go l.run()
	}
}

// run writes until there is nothing left to do.
func (l *logWriter) run() {
	l.cond.L.Lock()
	defer l.cond.L.Unlock()
	for l.fill != nil || l.asked > l.answered {
		l.turnLocked()
		l.cond.Broadcast()
	}
	l.running = false
}

// turnLocked brings the file up to date. It unlocks the mutex meanwhile.
func (l *logWriter) turnLocked() {
	fill, asked, closing, err := l.fill, l.asked, l.closing, l.stop
	var line []byte
	if asked > l.answered {
		line = append([]byte{}, l.line()...)
	}
	l.fill = nil
	l.cond.L.Unlock()
	err = l.update(fill, line, err)
	if closing {
		err = l.close(err)
	}
	l.cond.L.Lock()
	l.answered, l.stop = asked, err
	if l.file != nil {
		l.path = l.file.Name()
	}
}

// update writes finished text and the line behind it, unless the file has
// stopped already.
func (l *logWriter) update(fill *bytes.Buffer, line []byte, stop error) error {
	if stop == nil && l.file == nil {
		l.file, stop = l.logs.create(l.name)
	}
	if fill != nil {
		if stop == nil {
			stop = l.write(fill.Bytes())
		}
		if fill.Reset(); fill.Cap() <= 2*fillSize {
			fills.Put(fill)
		}
	}
	if stop == nil && line != nil {
		_, stop = l.put(line[:cutRune(line, int(max(0, l.logs.cfg.MaxBytes-l.size)))])
	}
	return stop
}

// write appends p to the finished text, as far as the bounds and the disk
// allow.
func (l *logWriter) write(p []byte) error {
	allowed, reason := l.logs.allow(l.size, len(p))
	n, err := l.put(p[:cutRune(p, allowed)])
	l.size += int64(n)
	l.logs.giveBack(allowed - n)
	if err == nil && reason != "" {
		err = errors.New(reason)
	}
	if err != nil {
		return fmt.Errorf("the log ends after %d bytes: %w", l.size, cause(err))
	}
	return nil
}

// put makes p the end of the file, behind the finished text.
func (l *logWriter) put(p []byte) (int, error) {
	n, err := l.file.WriteAt(p, l.size)
	end := l.size + int64(n)
	if l.end > end {
		err = cmp.Or(err, l.file.Truncate(end))
	}
	l.end = end
	return n, err
}

// close closes the file; what it holds stays. It returns why the file has
// stopped.
func (l *logWriter) close(stop error) error {
	if l.file == nil {
		return stop
	}
	l.logs.finished(l.file.Name(), l.size)
	if err := l.file.Close(); err != nil && stop == nil {
		return fmt.Errorf("the log may be incomplete: %w", cause(err))
	}
	return stop
}

// cause strips the path off an error whose reader is told of it anyway.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
