package shared

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
)

// What Execute waits for a command's rest, in looks liveLook apart: a process that
// was stopped between two of them has not waited longer for that.
const (
	liveLook    = 50 * time.Millisecond
	liveWrites  = 20  // at which writers were busy; one that is stuck from one to the next ends it
	liveSlow    = 4   // in a row that found them writing: they are what takes the time
	liveArrives = 200 // at which they had nothing to do: the rest is under way
	liveFails   = 2   // the same where the call has failed
	liveStop    = time.Second
)

// liveReceiver is the host's side: one goroutine that writes to the request's
// writers until the stream ends or a writer fails.
type liveReceiver struct {
	id       uint32
	done     chan struct{} // the goroutine has ended
	writes   atomic.Int64  // that have ended
	returned chan struct{} // everything from before the call's end is written
	call     chan error    // what the call came to
	stopped  chan struct{} // no write may begin any more
	turn     chan struct{} // holds a value during a write
}

func newLiveReceiver(id uint32) *liveReceiver {
	return &liveReceiver{
		id: id, done: make(chan struct{}), returned: make(chan struct{}), call: make(chan error, 1),
		stopped: make(chan struct{}), turn: make(chan struct{}, 1),
	}
}

// receiveLive returns nil where the request has no writers.
func receiveLive(broker *plugin.MuxBroker, stdout, stderr io.Writer) *liveReceiver {
	if stdout == nil && stderr == nil {
		return nil
	}
	l := newLiveReceiver(broker.NextId() | liveIDs)
	go func() {
		if conn, err := dialStream(broker, l.id); err == nil {
			_ = l.copy(conn, liveWriters(stdout, stderr))
			close(l.done)
			hangUp(conn)
		} else {
			close(l.done)
		}
		if <-l.call == nil {
			tellEnd(stdout, stderr)
		}
	}()
	return l
}

func liveWriters(stdout, stderr io.Writer) map[byte]io.Writer {
	writers := make(map[byte]io.Writer, 2)
	if stdout != nil {
		writers[toStdout] = stdout
	}
	if stderr != nil {
		writers[toStderr] = stderr
	}
	return writers
}

func (l *liveReceiver) callReturned(err error) { l.call <- err }

// hangUp asks the sender to stop and takes what is under way still.
func hangUp(conn net.Conn) {
	_, _ = conn.Write([]byte{0})
	_, _ = io.Copy(io.Discard, conn)
	conn.Close()
}

// bareWriter returns the writer itself, and whether it was in a WholeOutput.
func bareWriter(w io.Writer) (_ io.Writer, whole bool) {
	for {
		switch of := w.(type) {
		case WholeOutput:
			w, whole = of.Writer, true
		case *WholeOutput:
			w, whole = of.Writer, true
		default:
			return w, whole
		}
	}
}

// tellEnd tells a writer once, even where it is both.
func tellEnd(stdout, stderr io.Writer) {
	if ender, ok := stdout.(OutputEnder); ok {
		ender.EndOutput()
	}
	if ender, ok := stderr.(OutputEnder); ok && !isSame(stdout, stderr) {
		ender.EndOutput()
	}
}

func isSame(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // of types that cannot be compared
	return a == b
}

func (l *liveReceiver) copy(conn io.Reader, writers map[byte]io.Writer) error {
	var header [frameHeader]byte
	var frame []byte
	var returned bool
	wanted, failed := len(writers), 0
	for {
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(header[1:])
		if header[0] == toNobody && size == 0 {
			if returned {
				return nil
			}
			returned = true
			close(l.returned)
			continue
		}
		w := writers[header[0]]
		if size > maxFrame || w == nil {
			return errors.New("malformed frame")
		}
		if int(size) > cap(frame) {
			frame = make([]byte, size)
		}
		frame = frame[:size]
		if _, err := io.ReadFull(conn, frame); err != nil {
			return err
		}
		if err := l.write(w, frame); err != nil {
			writers[header[0]] = io.Discard
			if failed++; failed == wanted {
				return err
			}
		}
		l.writes.Add(1)
	}
}

// write gives p to w, unless that was stopped.
func (l *liveReceiver) write(w io.Writer, p []byte) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	select {
	case <-l.stopped:
		return errNoReader
	default:
	}
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// stop has no write begin any more, and waits for the one under way, within
// bounds. It may be called once.
func (l *liveReceiver) stop() {
	close(l.stopped)
	timer := time.NewTimer(liveStop)
	defer timer.Stop()
	select {
	case l.turn <- struct{}{}:
		<-l.turn
	case <-timer.C:
	}
}

// settle waits for the rest of a command that has ended, for a number of looks
// at which there is nothing to write.
func (l *liveReceiver) settle(arrives int) {
	look := time.NewTicker(liveLook)
	defer look.Stop()
	var before int64
	for p := (patience{idle: arrives}); !p.isOver(); {
		select {
		case <-l.done:
			return
		case <-l.returned:
			return
		case <-look.C:
		}
		after := l.writes.Load()
		p.look(after > before, len(l.turn) > 0)
		before = after
	}
}

// patience is what settle has for writers. It is over after so many looks.
type patience struct {
	busy, slow, idle int // slow in a row, idle ones from those that there may be down
	writing, stuck   bool
}

// look takes note of whether a write has ended since the last look, and whether
// one is under way.
func (p *patience) look(wrote, writing bool) {
	p.stuck = p.writing && writing && !wrote
	p.writing = writing
	if p.slow++; !writing {
		p.slow = 0
	}
	if wrote || writing {
		p.busy++
	} else {
		p.idle--
	}
}

func (p *patience) isOver() bool {
	return p.stuck || p.busy >= liveWrites || p.slow >= liveSlow || p.idle <= 0
}
