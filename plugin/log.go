package main

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxLog bounds the log lines that wait for the host, in bytes.
const maxLog = 1 << 20

// logPipe carries the plugin's log to its host, which reads it over the
// connection. A Write never waits: lines that find no room are dropped.
//
// Stderr would not do. A command can open this process's stderr, which is a
// pipe, through /proc, write there what go-plugin in the host takes for log
// lines, and crash the host by a line that is malformed.
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

// dropStderr gives up the pipe to the host's stderr reader.
func dropStderr() error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	return unix.Dup2(int(null.Fd()), int(os.Stderr.Fd()))
}
