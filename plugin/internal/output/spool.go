package output

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Spool is a queue of bytes on disk, in a file without a name. It counts among
// the session's logs until it is empty, and leaves them a quarter of their
// bound. One goroutine may read while another writes; the rest excludes both.
type Spool struct {
	logs *Logs
	file *os.File // nil: none yet
	end  int64    // of what was written
	next int64    // position of the next read
	back int64    // what is before was given back to the disk

	mu      sync.Mutex // guards what follows; only Write changes it, beside a Read
	inFile  int64      // position up to which the file has it
	pending []byte     // what follows, less than spoolUnit
}

const (
	// spoolStep is how much is given back to the disk at a time.
	spoolStep = 16 << 20

	// The file gets multiples of spoolUnit: what is written across the borders
	// of pages takes the system twice the time.
	spoolUnit = 64 << 10
)

var errSpoolFull = errors.New("no more may wait on disk")

// NewSpool returns an empty spool, which takes nothing from the disk yet.
func (l *Logs) NewSpool() *Spool { return &Spool{logs: l} }

// Write appends all of head and p or, where the disk or the bounds of the logs
// do not allow that, nothing that Read would give.
func (s *Spool) Write(head, p []byte) (int, error) {
	n := len(head) + len(p)
	if s.file == nil {
		file, err := s.logs.scratch()
		if err != nil {
			return 0, err
		}
		s.file = file
	}
	if got := s.logs.take(n, s.logs.cfg.MaxSessionBytes/4); got < n {
		s.logs.giveBack(got)
		return 0, errSpoolFull
	}
	if err := s.put(head, p); err != nil {
		s.logs.giveBack(n)
		return 0, err
	}
	s.end += int64(n)
	return n, nil
}

// put writes what is pending, head and p up to the last unit that is whole. The
// rest is pending. The first unit is written as it comes, too: a disk that takes
// nothing is known at once.
func (s *Spool) put(head, p []byte) error {
	if whole := (s.end + int64(len(head)+len(p))) / spoolUnit * spoolUnit; whole > s.inFile {
		n := int(whole - s.end)
		inHead := min(n, len(head))
		if err := writeAll(s.file, s.inFile, s.pending, head[:inHead], p[:n-inHead]); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFile, s.pending = whole, s.pending[:0]
		head, p = head[inHead:], p[n-inHead:]
	} else {
		if s.inFile == 0 {
			if err := writeAll(s.file, s.end, head, p); err != nil {
				return err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	s.pending = append(append(s.pending, head...), p...)
	return nil
}

// writeAll writes the parts to a file, all at once.
func writeAll(file *os.File, at int64, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	for {
		n, err := unix.Pwritev(int(file.Fd()), parts, at)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return os.NewSyscallError("pwritev", err)
		case n < size:
			return io.ErrShortWrite
		default:
			return nil
		}
	}
}

// Read fills p, which must not be longer than what was written and not read.
func (s *Spool) Read(p []byte) (int, error) {
	n, inFile := s.readPending(p)
	fromFile, err := s.file.ReadAt(p[:len(p)-n], s.next)
	if err == nil {
		fromFile += n
	}
	s.next += int64(fromFile)
	if size := min(s.next, inFile) - s.back; size >= spoolStep && punchHole(s.file, s.back, size) {
		s.logs.giveBack(int(size))
		s.back += size
	}
	return fromFile, err
}

// readPending reads the end of p, as far as the file does not have it, and
// returns up to where it has.
func (s *Spool) readPending(p []byte) (n int, inFile int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if skip := s.inFile - s.next; skip < int64(len(p)) {
		n = copy(p[max(0, skip):], s.pending[max(0, -skip):])
	}
	return n, s.inFile
}

// Len returns how much was written and not read.
func (s *Spool) Len() int64 { return s.end - s.next }

// Reset empties the spool.
func (s *Spool) Reset() {
	if s.file != nil {
		_ = s.file.Truncate(0)
	}
	s.logs.giveBack(int(s.end - s.back))
	s.end, s.next, s.back, s.inFile, s.pending = 0, 0, 0, 0, nil
}

// Close gives the disk back.
func (s *Spool) Close() {
	s.Reset()
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// scratch makes a file that has no name any more.
func (l *Logs) scratch() (*os.File, error) {
	return l.inFolder(func(folder string) (*os.File, error) {
		file, err := os.CreateTemp(folder, "live-")
		if err != nil {
			return nil, err
		}
		if err := os.Remove(file.Name()); err != nil {
			file.Close()
			return nil, err
		}
		return file, nil
	})
}
