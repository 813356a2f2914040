package job

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	bufferSize = 64 << 10
	pipeSize   = 1 << 20 // the most an ordinary user gets

	// So many pipes are that large from their beginning: programs that exit
	// without waiting for their output to be read lose what the pipe does not
	// hold. Others are once their command floods. A user's pipes may have 64 MiB
	// in all before the system makes new ones smaller.
	maxLarge = 16
)

// buffers are those of the sources that have something to read: an idle
// command holds none.
var buffers = sync.Pool{New: func() any { return new([pipeSize / 4]byte) }}

// source is the reading end of a command's pipe. A goroutine reads it until
// its end of file; drain may read beside it.
type source struct {
	file   *os.File
	conn   syscall.RawConn
	floods *Floods
	done   chan struct{} // closed at the end of file, or once it is closed
	counts bool          // among maxLarge
	writer writer        // set before run

	mu    sync.Mutex // held during a read and what is done with its bytes; guards what follows
	sink  sink
	pause func() // called after large reads, when no more is expected at once
	total int64
	large bool // reads are: the command has flooded
	ahead bool // pause has not been called since a large read
	eof   bool

	lent *[pipeSize / 4]byte // what the sink has last, until
	free <-chan struct{}     // this is closed; nil: it has nothing

	unblocked time.Time // the writing end was
}

// unblockEvery is how often what has just written to a pipe is made to wait for
// room there: before the pipe is full.
const unblockEvery = 5 * time.Millisecond

// writer is where the command's bash has the writing end.
type writer struct{ pid, fd int }

// sink takes what was read. It may go on using a large chunk until the channel
// is closed that it returns: nil where it does not.
type sink func(p []byte) (free <-chan struct{})

// newSource makes a pipe and returns its writing end.
func newSource(floods *Floods, sink sink, pause func()) (*source, *os.File, error) {
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
	s := &source{file: read, conn: conn, floods: floods, sink: sink, pause: pause, done: make(chan struct{})}
	if s.counts = floods.large.Add(1) <= maxLarge; s.counts {
		_ = conn.Control(func(fd uintptr) { enlargePipe(int(fd), pipeSize) })
	} else {
		floods.large.Add(-1)
	}
	return s, write, nil
}

// run reads until the end of file.
func (s *source) run() {
	defer close(s.done)
	var pace pace
	waits := false
	_ = s.conn.Read(func(fd uintptr) bool {
		for {
			n, err := s.step(int(fd), pace.flood)
			if pace.took(n) {
				s.turn(int(fd), pace.flood)
			}
			if does := pace.flood && n < 0; does != waits {
				waits = does
				s.floods.wait(does)
			}
			if n <= 0 {
				s.settle()
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
	if waits {
		s.floods.wait(false)
	}
	if pace.flood {
		s.floods.end()
	}
	s.release()
}

// release closes the reading end. run does, and who does not come to run.
func (s *source) release() {
	s.file.Close()
	if s.counts {
		s.floods.large.Add(-1)
	}
}

// step is one read, as one of many where it is one of a flood.
func (s *source) step(fd int, flood bool) (n int, err error) {
	if !flood {
		return s.read(fd)
	}
	s.floods.turn(func() { n, err = s.read(fd) }, s.settle)
	return n, err
}

// reclaim waits for the sink.
func (s *source) reclaim() {
	if s.free != nil {
		<-s.free
		buffers.Put(s.lent)
		s.free, s.lent = nil, nil
	}
}

// settle calls pause where that is due.
func (s *source) settle() {
	s.mu.Lock()
	s.reclaim()
	due := s.ahead
	s.ahead = false
	s.mu.Unlock()
	if due {
		s.pause()
	}
}

// turn begins or ends a flood.
func (s *source) turn(fd int, flood bool) {
	if !flood {
		s.floods.end()
		s.settle()
		return
	}
	s.floods.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.large {
		s.large = true
		enlargePipe(fd, pipeSize)
	}
}

// read moves what one read gives to the sink. At the end of file n is 0 and
// the error nil.
func (s *source) read(fd int) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buffer := buffers.Get().(*[pipeSize / 4]byte)
	defer func() {
		if buffer != s.lent {
			buffers.Put(buffer)
		}
	}()
	if s.eof {
		return 0, nil
	}
	size := bufferSize
	if s.large && !s.floods.crowded() {
		size = len(buffer)
	}
	for {
		n, err = syscall.Read(fd, buffer[:size])
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if n <= 0 {
		s.eof = err == nil
		return n, err
	}
	s.total += int64(n)
	if s.writer.pid != 0 && time.Since(s.unblocked) >= unblockEvery {
		s.unblocked = time.Now()
		if !unblock(fd, s.writer.pid, s.writer.fd) {
			s.writer.pid = 0
		}
	}
	s.ahead = s.ahead || n >= bufferSize
	s.reclaim()
	if s.free = s.sink(buffer[:n]); s.free != nil {
		s.lent = buffer
	}
	return n, nil
}

// drain reads what is in the pipe at this moment, and does not wait for more:
// a process that goes on writing does not hold it up.
func (s *source) drain() {
	defer s.settle()
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

// close stops reading. The pipe must have no writer left of the command's: one
// would be killed by SIGPIPE. What somebody else goes on writing is nobody's.
func (s *source) close() {
	s.mu.Lock()
	s.eof = true
	s.mu.Unlock()
	_ = s.file.Close()
	<-s.done
}
