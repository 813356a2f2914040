package job

import (
	"encoding/binary"
	"io"

	"bashplugin/plugin/internal/output"
)

const (
	liveBacklog = 8 << 20 // bytes that wait in memory for the live copy's reader
	chunkSize   = 4 << 10 // memory of a chunk, at least

	// spoolBacklog bytes may wait on disk and, for each byte that the reader has
	// taken, spoolShare more. The first liveTransit do not count: the connection
	// takes them for a reader that is stuck.
	spoolBacklog = 16 << 20
	spoolShare   = 64
	liveTransit  = 1 << 20
)

// chunk is some bytes for one writer.
type chunk struct {
	to   io.Writer
	text []byte
}

// backlog holds what live has not written yet, in order: first in memory, then
// on disk. All but read needs live's mu.
type backlog struct {
	stdout, stderr io.Writer

	queue []chunk
	size  int // memory of queue

	spool   *output.Spool // of frames, which come after the queue; nil: none
	waiting int64         // bytes in it; 0: new chunks go to the queue
	frame   []byte        // the last one, for its memory
	taken   int64         // bytes that the writers took
}

// frameHeader is what a frame begins with: 1 for stderr, and the length.
const frameHeader = 5

func (b *backlog) isEmpty() bool { return len(b.queue) == 0 && b.waiting == 0 }

// add takes a copy of p, if there is room.
func (b *backlog) add(to io.Writer, p []byte) bool {
	if b.waiting > 0 || b.size+max(len(p), chunkSize) > liveBacklog {
		return b.store(to, p)
	}
	last := len(b.queue) - 1
	if last < 0 || b.queue[last].to != to || len(b.queue[last].text)+len(p) > cap(b.queue[last].text) {
		b.queue = append(b.queue, chunk{to, make([]byte, 0, max(len(p), chunkSize))})
		last++
		b.size += cap(b.queue[last].text)
	}
	b.queue[last].text = append(b.queue[last].text, p...)
	return true
}

// store adds a frame to the spool.
func (b *backlog) store(to io.Writer, p []byte) bool {
	if b.spool == nil || b.waiting+int64(len(p)) > spoolBacklog+spoolShare*max(0, b.taken-liveTransit) {
		return false
	}
	which := byte(0)
	if to == b.stderr {
		which = 1
	}
	b.frame = binary.BigEndian.AppendUint32(append(b.frame[:0], which), uint32(len(p)))
	b.frame = append(b.frame, p...)
	n, err := b.spool.Write(b.frame)
	b.waiting += int64(n)
	return err == nil
}

// pop returns the first chunk in memory. Where none is, read has the next.
func (b *backlog) pop() (c chunk, inMemory bool) {
	if len(b.queue) == 0 {
		return chunk{}, false
	}
	c = b.queue[0]
	b.queue = b.queue[1:]
	b.size -= cap(c.text)
	return c, true
}

// read reads the next chunk on disk. It may be called beside add, and is
// followed by shrink.
func (b *backlog) read() (chunk, error) {
	var header [frameHeader]byte
	if _, err := b.spool.Read(header[:]); err != nil {
		return chunk{}, err
	}
	c := chunk{to: b.stdout, text: make([]byte, binary.BigEndian.Uint32(header[1:]))}
	if header[0] == 1 {
		c.to = b.stderr
	}
	_, err := b.spool.Read(c.text)
	return c, err
}

// shrink takes note that a chunk was read.
func (b *backlog) shrink(c chunk) {
	if b.waiting -= frameHeader + int64(len(c.text)); b.waiting == 0 {
		b.spool.Reset()
		b.frame = nil
	}
}

// close drops everything.
func (b *backlog) close() {
	b.queue, b.size, b.waiting, b.frame = nil, 0, 0, nil
	if b.spool != nil {
		b.spool.Close()
	}
}
