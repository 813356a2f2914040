package output

import (
	"errors"
	"fmt"
	"os"
	"unicode/utf8"
)

// Log is the file that holds a stream from its first byte on. It stops for
// good at the first byte that it cannot take, so that what it holds is always
// an unbroken beginning of the stream.
type Log struct {
	logs *Logs
	file *os.File
	path string
	size int64
	err  error // why it stopped
}

// write appends p as far as the disk, the stream's bound and the session's
// bound allow.
func (l *Log) write(p []byte) {
	if l.err != nil {
		return
	}
	allowed, reason := l.logs.allow(l.size, len(p))
	n, err := l.file.Write(p[:cutRune(p, allowed)])
	l.size += int64(n)
	l.logs.giveBack(allowed - n)
	switch {
	case err != nil:
		l.err = fmt.Errorf("the log ends after %d bytes: %w", l.size, cause(err))
	case reason != "":
		l.err = fmt.Errorf("the log ends after %d bytes: %s", l.size, reason)
	}
}

// close closes the file; what it holds stays.
func (l *Log) close() {
	if err := l.file.Close(); err != nil && l.err == nil {
		l.err = fmt.Errorf("the log may be incomplete: %w", cause(err))
	}
}

// cutRune returns the largest n' <= n at which p may be cut without cutting a
// rune.
func cutRune(p []byte, n int) int {
	if n >= len(p) {
		return len(p)
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			return i
		}
	}
	return n
}

// cause strips a path that the reader of the message is told anyway.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
