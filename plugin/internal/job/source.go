package job

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/output"
)

const (
	bufferSize = 64 << 10 // bytes that one read takes at most

	// pipeSize is what a command can write ahead of its reader. An ordinary
	// user's pipes may have 64 MiB in all before the system makes new ones
	// smaller.
	pipeSize = 256 << 10
)

// buffers are those of the reads under way: an idle command holds none.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Turns bounds how many commands' output is handled at a time, so that
// commands that write without end leave a processor for everything else.
type Turns chan struct{}

// NewTurns returns Turns for a number of processors.
func NewTurns(processors int) Turns { return make(Turns, max(1, processors-1)) }

// source is one stream of a command: the reading end of its pipe, and where the
// bytes go. A goroutine reads it until its end of file; drain may read beside
// it.
type source struct {
	file  *os.File
	conn  syscall.RawConn
	turns Turns
	text  *output.Stream
	copy  *liveCopy
	done  chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex // held during a read and the handling of its bytes; guards what follows
	total int64
	eof   bool
}

// newSource makes a pipe and returns its writing end.
func newSource(turns Turns, text *output.Stream, copy *liveCopy) (*source, *os.File, error) {
	read, write, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	conn, err := read.SyscallConn()
	if err != nil {
		read.Close()
		write.Close()
		return nil, nil, err
	}
	return &source{file: read, conn: conn, turns: turns, text: text, copy: copy, done: make(chan struct{})}, write, nil
}

// run reads until the end of file.
func (s *source) run() {
	defer close(s.done)
	defer s.file.Close()
	_ = s.conn.Read(func(fd uintptr) bool {
		for {
			s.text.Ready()
			s.copy.ready()
			s.turns <- struct{}{}
			n, err := s.read(int(fd))
			<-s.turns
			if n <= 0 {
				s.text.Flush()
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
}

// read handles what one read gives. At the end of file n is 0 and the error
// nil.
func (s *source) read(fd int) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.eof {
		return 0, nil
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		n, err = syscall.Read(fd, buffer[:])
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if n <= 0 {
		s.eof = err == nil
		return n, err
	}
	s.total += int64(n)
	s.copy.put(buffer[:n])
	_, _ = s.text.Write(buffer[:n])
	return n, nil
}

// drain reads what is in the pipe at this moment, and does not wait for more:
// a process that goes on writing does not hold it up.
func (s *source) drain() {
	_ = s.conn.Control(func(fd uintptr) {
		for target := s.written(int(fd)); s.taken() < target; {
			if n, _ := s.read(int(fd)); n <= 0 {
				return
			}
		}
	})
}

// written returns how many bytes have entered the pipe so far.
func (s *source) written(fd int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending, err := unix.IoctlGetInt(fd, pendingRequest)
	if err != nil {
		return s.total
	}
	return s.total + int64(pending)
}

// taken returns how many bytes have left it.
func (s *source) taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// close stops reading and ends the text and the copy. The pipe must have no
// writer left of the command's: one would be killed by SIGPIPE. What another
// process goes on writing is lost.
func (s *source) close() {
	s.mu.Lock()
	s.eof = true
	s.mu.Unlock()
	s.copy.close() // run may wait for room in it
	_ = s.file.Close()
	<-s.done
	_ = s.text.Close()
}
