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

	// pipeSize is how many bytes a command can write ahead of its reader. Once an
	// ordinary user's pipes have 64 MiB in all, the system makes new ones smaller.
	pipeSize = 256 << 10
)

// buffers are the buffers for reading: only a read under way holds one.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Turns are two semaphores that all jobs share. They leave one processor for everything else
// while commands write without end.
type Turns struct {
	// read is held to read and handle what a command has written.
	read chan struct{}

	// draw is held to draw a screen. All screens together take one processor.
	draw chan struct{}
}

// NewTurns returns Turns for a number of processors.
func NewTurns(processors int) Turns {
	return Turns{read: make(chan struct{}, max(1, processors-1)), draw: make(chan struct{}, 1)}
}

// source is one stream of a command: the reading end of its pipe, or its terminal, and
// the destinations of the bytes. A goroutine (run) reads until the end of file; drain
// may read at the same time.
type source struct {
	file  *os.File
	conn  syscall.RawConn
	turns Turns
	text  *output.Stream
	copy  *liveCopy
	shown *screen       // nil: the file is a pipe
	done  chan struct{} // closed when the goroutine has ended

	// mu guards the fields below. It is held during a read and the handling of its bytes.
	mu    sync.Mutex
	total int64
	eof   bool
}

func newSource(turns Turns, text *output.Stream, copy *liveCopy, shown *screen, from *os.File) *source {
	conn, _ := from.SyscallConn() // fails only for a closed file
	return &source{
		file:  from,
		conn:  conn,
		turns: turns,
		text:  text,
		copy:  copy,
		shown: shown,
		done:  make(chan struct{}),
	}
}

// run reads until the end of file. A terminal has none: reading fails while nobody holds it
// open, but a process may open it again, so it is read until close.
func (s *source) run() {
	defer close(s.done)
	defer s.file.Close()
	_ = s.conn.Read(func(fd uintptr) bool {
		for {
			s.text.Ready()
			s.copy.ready()
			n, err := s.readInTurn(int(fd))
			if n <= 0 {
				s.text.Flush()
				return s.shown == nil && !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
}

// readInTurn calls read while it holds a turn.
func (s *source) readInTurn(fd int) (n int, err error) {
	s.turns.read <- struct{}{}
	defer func() { <-s.turns.read }()
	return s.read(fd)
}

// read reads once and passes the bytes on. At the end of file n is 0 and err is
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
		s.eof = err == nil && s.shown == nil
		return n, err
	}
	s.total += int64(n)
	s.copy.put(buffer[:n])
	s.shown.put(buffer[:n])
	_, _ = s.text.Write(buffer[:n])
	return n, nil
}

// drain reads the bytes that are in the pipe now and returns, even if a process
// goes on writing.
func (s *source) drain() {
	_ = s.conn.Control(func(fd uintptr) {
		target := s.written(int(fd))
		for s.taken() < target {
			n, _ := s.read(int(fd))
			if n <= 0 {
				return
			}
		}
	})
}

// terminalBuffers is more than the bytes that a terminal can hold. A terminal does not say
// how many it holds.
const terminalBuffers = 128 << 10

// written returns how many bytes have entered the pipe so far. For a terminal it may return
// more.
func (s *source) written(fd int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != nil {
		return s.total + terminalBuffers
	}
	pending, err := unix.IoctlGetInt(fd, pendingRequest)
	if err != nil {
		return s.total
	}
	return s.total + int64(pending)
}

// taken returns how many bytes have left the pipe so far.
func (s *source) taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// close stops reading and ends the text and the copy. The command must have no
// process left: SIGPIPE would kill one that writes. Bytes that another process
// still writes into the pipe are lost.
func (s *source) close() {
	s.mu.Lock()
	s.eof = true
	s.mu.Unlock()
	s.copy.close() // run may wait for room in it
	_ = s.file.Close()
	<-s.done
	_ = s.text.Close()
}
