package output

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LogReader reads a log while it is written, and after it is closed or
// removed. One goroutine may use it, beside the one that uses the log; Size may
// be called by any.
type LogReader struct {
	log  *Log
	file *os.File
}

// Reader returns a reader of the log, which must not be closed.
func (l *Log) Reader() (*LogReader, error) {
	fd, err := unix.FcntlInt(l.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &LogReader{log: l, file: os.NewFile(uintptr(fd), l.path)}, nil
}

// Size returns how many bytes the log has, and whether it may get more.
func (r *LogReader) Size() (n int64, mayGrow bool) {
	mayGrow = !r.log.failed.Load()
	return r.log.size.Load(), mayGrow
}

// ReadAt fills p from a position on, as far as the log has it.
func (r *LogReader) ReadAt(p []byte, at int64) (int, error) {
	size, _ := r.Size()
	if at >= size {
		return 0, io.EOF
	}
	return r.file.ReadAt(p[:min(int64(len(p)), size-at)], at)
}

// Close closes the file. The log remains.
func (r *LogReader) Close() { r.file.Close() }
