package output

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Log is the file that holds a stream from its first byte on. It stops for
// good at the first byte that it cannot take, so that what it holds is always
// an unbroken beginning of the stream. One goroutine at a time may use it;
// others may have LogReaders.
type Log struct {
	logs  *Logs
	file  *os.File
	path  string
	taken int64         // bytes that are, or are about to be, in the file
	block *[]byte       // what is not given to the file yet; nil: nothing
	under chan struct{} // closed when the block before that is written; nil: it is
	stop  error         // why it stopped, as far as that is known yet

	// Changed by whoever writes a block; wait comes before any other use, but
	// for a look at size and failed.
	size   atomic.Int64 // of what is final
	failed atomic.Bool  // err is set
	draft  int64        // where the draft behind size ends; 0: there is none
	err    error        // why the file could not be written
}

// write takes p, as far as the stream's bound and the session's bound allow.
// flush makes sure that the file has it.
func (l *Log) write(p []byte) {
	if l.stop != nil {
		return
	}
	allowed, reason := l.logs.allow(l.taken, len(p))
	n := cutRune(p, allowed)
	l.logs.giveBack(allowed - n)
	if l.taken += int64(n); reason != "" {
		l.stop = fmt.Errorf("the log ends after %d bytes: %s", l.taken, reason)
	}
	l.add(p[:n])
}

// add adds p, already in taken, to the block.
func (l *Log) add(p []byte) {
	for len(p) > 0 {
		if l.block == nil {
			if l.block = l.logs.blocks.take(); l.block == nil {
				l.wait()
				l.put(p)
				l.notice()
				return
			}
		}
		begin := l.taken - int64(len(*l.block)+len(p))
		n := cutRune(p, blockAt(begin)-len(*l.block))
		*l.block = append(*l.block, p[:n]...)
		if p = p[n:]; len(p) > 0 {
			l.send()
		}
	}
}

// send has the block written while the next one fills.
func (l *Log) send() {
	l.wait()
	block, done := l.block, make(chan struct{})
	l.block, l.under = nil, done
	go func() {
		defer close(done)
		l.put(*block)
		l.logs.blocks.free(block)
	}()
}

func (l *Log) wait() {
	if l.under != nil {
		<-l.under
		l.under = nil
		l.notice()
	}
}

// notice takes note of what became of a block.
func (l *Log) notice() {
	if l.err != nil {
		l.stop = l.err
	}
}

// flush gives the file everything so far.
func (l *Log) flush() {
	l.wait()
	if l.block != nil {
		l.put(*l.block)
		l.logs.blocks.free(l.block)
		l.block = nil
		l.notice()
	}
}

// put appends p to the file as far as the disk allows.
func (l *Log) put(p []byte) {
	n := 0
	if l.err == nil {
		n, l.err = l.file.Write(p) // a draft does not move the place
		size := l.size.Add(int64(n))
		l.cutDraft(0)
		if l.err != nil {
			l.err = fmt.Errorf("the log ends after %d bytes: %w", size, cause(l.err))
			l.failed.Store(true)
		}
	}
	l.logs.giveBack(len(p) - n)
}

// sketch writes the line that is being written behind everything else. What
// comes next is written over it. The log must be flushed, and not have stopped.
func (l *Log) sketch(line []byte) error {
	if len(line) == 0 && l.draft == 0 {
		return nil
	}
	size := l.size.Load()
	allowed, reason := l.logs.allow(size, len(line))
	l.logs.giveBack(allowed)
	n, err := l.file.WriteAt(line[:cutRune(line, allowed)], size)
	if l.cutDraft(n); err != nil {
		_ = l.file.Truncate(size) // n is 0 then, whatever was written
	}
	switch {
	case err != nil:
		return fmt.Errorf("the log lacks the line that is being written: %w", cause(err))
	case reason != "":
		return fmt.Errorf("the log lacks the line that is being written: %s", reason)
	}
	return nil
}

// cutDraft makes the draft n bytes long, which are in the file already.
func (l *Log) cutDraft(n int) {
	end := l.size.Load() + int64(n)
	if l.draft > end {
		_ = l.file.Truncate(end)
	}
	if l.draft = end; n == 0 {
		l.draft = 0
	}
}

// close closes the file; what it holds stays.
func (l *Log) close() {
	l.flush()
	if l.file == nil {
		return
	}
	l.cutDraft(0)
	if err := l.file.Close(); err != nil && l.stop == nil {
		l.stop = fmt.Errorf("the log may be incomplete: %w", cause(err))
	}
	l.logs.finished(l.path, l.size.Load())
}

// cause strips a path that the reader of the message is told anyway.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
