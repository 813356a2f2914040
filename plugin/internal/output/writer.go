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
)

// fills are the buffers of all logs: an idle one has none.
var fills = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, fillSize)) }}

// logWriter writes a stream's log: a goroutine (run), which lives while there is
// something to write, writes one buffer while the next one fills.
type logWriter struct {
	log  logFile       // run's alone
	line func() []byte // returns the line being written, under the mutex

	cond     *sync.Cond    // signals changes; its lock is the Stream's mutex, which guards what follows
	fill     *bytes.Buffer // text for the log; nil: none
	running  bool          // run is
	closing  bool          // nothing more comes
	asked    int           // requests to bring the log up to date
	answered int           // how many of them are done
	path     string        // of the log, "" where there is none
	problem  string        // why the log is incomplete, "" where it is not
}

func newLogWriter(logs *Logs, name string, mu *sync.Mutex, line func() []byte) *logWriter {
	return &logWriter{log: logFile{logs: logs, name: name}, line: line, cond: sync.NewCond(mu)}
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
	w.wakeLocked()
}

// waitForRoomLocked waits until one more write fits.
func (w *logWriter) waitForRoomLocked() {
	for w.fill != nil && w.fill.Len() > fillSize-writeSize {
		w.cond.Wait()
	}
}

// askLocked asks for a log that is up to date, the line being written included.
// It does not wait.
func (w *logWriter) askLocked() {
	if !w.closing {
		w.asked++
		w.wakeLocked()
	}
}

// waitLocked waits until so many questions are answered.
func (w *logWriter) waitLocked(asked int) {
	for w.answered < asked {
		w.cond.Wait()
	}
}

// closeLocked has the log closed once it has everything. It does not wait.
func (w *logWriter) closeLocked() {
	w.askLocked()
	w.closing = true
}

func (w *logWriter) wakeLocked() {
	if !w.running {
		w.running = true
		go w.run()
	}
}

// run writes until there is nothing left to do.
func (w *logWriter) run() {
	w.cond.L.Lock()
	defer w.cond.L.Unlock()
	for w.fill != nil || w.asked > w.answered {
		w.turnLocked()
		w.cond.Broadcast()
	}
	w.running = false
}

// turnLocked brings the log up to date. It unlocks the mutex meanwhile.
func (w *logWriter) turnLocked() {
	fill, asked, closing := w.fill, w.asked, w.closing
	w.fill = nil
	var text, line []byte
	if fill != nil {
		text = fill.Bytes()
	}
	if asked > w.answered {
		line = append([]byte{}, w.line()...)
	}
	w.cond.L.Unlock()
	w.log.update(text, line)
	if closing {
		w.log.close()
	}
	if fill != nil && fill.Cap() <= 2*fillSize { // a larger one is rare
		fill.Reset()
		fills.Put(fill)
	}
	w.cond.L.Lock()
	w.answered, w.path = asked, w.log.path()
	if w.log.stop != nil {
		w.problem = w.log.stop.Error()
	}
}
