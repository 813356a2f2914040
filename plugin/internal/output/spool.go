package output

import (
	"errors"
	"os"
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
}

// spoolStep is how much is given back to the disk at a time.
const spoolStep = 16 << 20

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

// put copies what is short, to write once.
func (s *Spool) put(head, p []byte) error {
	if len(p) < 4<<10 {
		_, err := s.file.WriteAt(append(head, p...), s.end)
		return err
	}
	if _, err := s.file.WriteAt(p, s.end+int64(len(head))); err != nil {
		return err
	}
	_, err := s.file.WriteAt(head, s.end)
	return err
}

// Read fills p, which must not be longer than what was written and not read.
func (s *Spool) Read(p []byte) (int, error) {
	n, err := s.file.ReadAt(p, s.next)
	s.next += int64(n)
	if size := s.next - s.back; size >= spoolStep && punchHole(s.file, s.back, size) {
		s.logs.giveBack(int(size))
		s.back = s.next
	}
	return n, err
}

// Len returns how much was written and not read.
func (s *Spool) Len() int64 { return s.end - s.next }

// Reset empties the spool.
func (s *Spool) Reset() {
	if s.file != nil {
		_ = s.file.Truncate(0)
	}
	s.logs.giveBack(int(s.end - s.back))
	s.end, s.next, s.back = 0, 0, 0
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
