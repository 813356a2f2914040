package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// logReader reads a log, also while another goroutine writes it. It reads through the descriptor
// that made the log. Once that descriptor is closed, it opens the log by its name in the session's
// folder, if the file there is still the log. A nil logReader has nothing to read.
type logReader struct {
	path   string   // as Results name it
	name   string   // in folder
	folder *os.Root // the session's
	file   *os.File
	made   fs.FileInfo // of the file when it was made
}

// where returns the log's path for Results, "" if there is no log.
func (r *logReader) where() string {
	if r == nil {
		return ""
	}
	return r.path
}

// text returns up to n bytes from a position on.
func (r *logReader) text(from int64, n int) []byte {
	text := make([]byte, n)
	got := 0
	err := r.use(func(file *os.File) (err error) {
		got, err = file.ReadAt(text, from)
		return err
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return text[:got]
}

// size returns how long the log is.
func (r *logReader) size() (size int64) {
	_ = r.use(func(file *os.File) error {
		info, err := file.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	return size
}

// use calls do with the log, open for reading.
func (r *logReader) use(do func(*os.File) error) error {
	if r == nil {
		return fs.ErrNotExist
	}
	err := do(r.file)
	if !errors.Is(err, os.ErrClosed) {
		return err
	}
	file, err := r.folder.OpenFile(r.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the writer of a FIFO
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !r.is(info) {
		return fs.ErrNotExist
	}
	return do(file)
}

// is reports whether a file is the log. It may be wrong only for a file that was made after
// the log had been removed: such a file can get the log's inode number.
func (r *logReader) is(file fs.FileInfo) bool {
	return file.Mode().IsRegular() && os.SameFile(file, r.made)
}

// problem says why the log is not at its path any more, "" if it is.
func (r *logReader) problem() string {
	if r == nil {
		return ""
	}
	named, err := os.Lstat(r.path)
	if err != nil {
		return fmt.Sprintf("the log cannot be found any more: %v", cause(err))
	}
	if !r.is(named) {
		return "another file is at its path: the log was moved or replaced"
	}
	return ""
}
