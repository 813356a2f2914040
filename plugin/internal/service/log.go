package service

import "sync"

// maxLog bounds the log lines that wait for the host, in bytes.
const maxLog = 1 << 20

// logPipe carries the plugin's log to its host, which reads it over the
// connection. Write never blocks: a line that does not fit is dropped.
//
// Stderr is not used for the log: it is a pipe, and a command could open it through /proc and write
// log lines there. go-plugin's parser in the host would believe them, and a malformed line would
// crash the host.
type logPipe struct {
	mu      sync.Mutex // guards lines
	written *sync.Cond
	lines   []byte
}

func newLogPipe() *logPipe {
	l := new(logPipe)
	l.written = sync.NewCond(&l.mu)
	return l
}

// Write takes one line.
func (l *logPipe) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines)+len(line) <= maxLog {
		l.lines = append(l.lines, line...)
		l.written.Signal()
	}
	return len(line), nil
}

// Read waits for lines.
func (l *logPipe) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.lines) == 0 {
		l.written.Wait()
	}
	n := copy(p, l.lines)
	l.lines = append(l.lines[:0], l.lines[n:]...)
	return n, nil
}
