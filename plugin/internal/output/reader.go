package output

import (
	"io"
	"os"
)

// LogReader reads a log while it is written. One goroutine may use it, beside
// the one that uses the log; Size may be called by any.
type LogReader struct {
	log  *Log
	file *os.File // nil: not opened yet
}

// Reader returns a reader of the log.
func (l *Log) Reader() *LogReader { return &LogReader{log: l} }

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
	if r.file == nil {
		file, err := os.Open(r.log.path)
		if err != nil {
			return 0, err
		}
		r.file = file
	}
	return r.file.ReadAt(p[:min(int64(len(p)), size-at)], at)
}

// Close closes the file. The log remains.
func (r *LogReader) Close() {
	if r.file != nil {
		r.file.Close()
	}
}
