package job

import (
	"encoding/binary"
	"math"
	"time"

	"bashplugin/plugin/internal/output"
)

const (
	liveBacklog = 1 << 20   // bytes that wait in memory for the live copy's reader
	onlyMemory  = 8 << 20   // the same where no disk takes any
	chunkSize   = 4 << 10   // memory of a chunk, at least
	pieceSize   = 256 << 10 // read from disk at a time
	remainder   = 128 << 10 // more than a Stream keeps of a line

	// spoolBacklog bytes may wait in the spool and, besides, what the reader has
	// shown to take in spoolTime. It begins as if it had shown to take trustSize
	// in trustTime: a stuck reader is not known at once.
	spoolBacklog = 16 << 20
	spoolTime    = 30 * time.Second
	trustSize    = 5 << 20
	trustTime    = 50 * time.Millisecond
)

// chunk is some bytes of a track.
type chunk struct {
	of   *track
	text []byte
}

// backlog holds what live has not written yet, in this order:
//
//	queue  in memory
//	head   a passage that was in the spool
//	spool  on disk: bytes, and passages
//	last   a passage that grows
//	rest   what came behind it and is not, or not yet, in the log
//
// All but read needs live's mu.
type backlog struct {
	tracks [2]*track
	whole  bool // nothing is left out that the disk can hold

	queue []chunk
	size  int  // memory of queue
	alone bool // the disk takes nothing

	head     passage
	spool    *output.Spool
	waiting  int64 // bytes in it
	cited    int64 // bytes of the passages in it
	repeated int64 // bytes that units in it stand for
	last     passage
	rest     []byte

	taken int64         // bytes that the writers took
	spent time.Duration // on that
	since time.Time     // when the write that is under way began; zero: none is
	piece []byte        // memory of what is read from disk
}

// isEmpty reports whether nothing waits.
func (b *backlog) isEmpty() bool { return len(b.queue) == 0 && !b.isOnDisk() }

// isOnDisk reports whether something waits behind the queue.
func (b *backlog) isOnDisk() bool {
	return b.head.size() > 0 || b.waiting > 0 || b.last.size() > 0 || len(b.rest) > 0
}

// behind returns how many bytes wait, about.
func (b *backlog) behind() int64 {
	return int64(b.size) + b.head.size() + b.waiting + b.cited + b.repeated + b.last.size() + int64(len(b.rest))
}

// isReadable reports whether next has something.
func (b *backlog) isReadable() bool {
	switch {
	case len(b.queue) > 0:
		return true
	case b.head.size() > 0:
		return b.head.isReadable()
	case b.waiting > 0:
		return true
	case b.last.size() > 0:
		return b.last.isReadable()
	}
	return len(b.rest) > 0
}

// hasRoom reports whether add has room for n bytes.
func (b *backlog) hasRoom(n int) bool {
	return !b.isOnDisk() && b.size+max(n, chunkSize) <= liveBacklog
}

// add takes a copy of p into memory, if there is room.
func (b *backlog) add(t *track, p []byte) bool {
	return b.hasRoom(len(p)) && b.queueUp(t, p, liveBacklog)
}

// keep has p, which store did not take, wait in memory after all where nothing
// is on disk, with what store holds there.
func (b *backlog) keep(t *track, p []byte) bool {
	if b.head.size() > 0 || b.waiting > 0 || b.last.size() > 0 {
		return false
	}
	b.alone = true
	if len(b.rest) > 0 && !b.queueUp(b.last.of, b.rest, onlyMemory) {
		return false
	}
	b.passRest()
	b.rest = b.rest[:0]
	return b.queueUp(t, p, onlyMemory)
}

// queueUp takes a copy of p into memory, up to a bound.
func (b *backlog) queueUp(t *track, p []byte, most int) bool {
	if b.size+max(len(p), chunkSize) > most {
		return false
	}
	last := len(b.queue) - 1
	if last < 0 || b.queue[last].of != t || len(b.queue[last].text)+len(p) > cap(b.queue[last].text) {
		b.queue = append(b.queue, chunk{t, make([]byte, 0, max(len(p), chunkSize))})
		last++
		b.size += cap(b.queue[last].text)
	}
	b.queue[last].text = append(b.queue[last].text, p...)
	return true
}

// store has p wait, the last that came of the track.
func (b *backlog) store(t *track, p []byte) bool {
	if begin := t.total - int64(len(p)); b.last.of != t || b.last.end+int64(len(b.rest)) != begin {
		if !b.fix() {
			return false
		}
		b.last = passage{t, begin, begin}
	}
	switch after := t.total - t.verbatim; {
	case t.verbatim >= b.last.end && after <= remainder:
		b.last.end = t.verbatim
		b.rest = lastOf(b.rest, p, int(after))
		return true
	case len(b.rest)+len(p) <= remainder:
		b.rest = append(b.rest, p...)
		return true
	}
	if !b.fix() || !b.write(t.number, p) {
		return false
	}
	b.last = passage{t, t.total, t.total}
	return true
}

// lastOf makes of old the last n bytes of itself and p.
func lastOf(old, p []byte, n int) []byte {
	fromOld := max(0, n-len(p))
	return append(append(old[:0], old[len(old)-fromOld:]...), p[len(p)-(n-fromOld):]...)
}

// fix puts last and rest into the spool.
func (b *backlog) fix() bool {
	if b.last.size() > 0 {
		bounds := binary.BigEndian.AppendUint64(nil, uint64(b.last.from))
		bounds = binary.BigEndian.AppendUint64(bounds, uint64(b.last.end))
		if !b.writeFrame(b.last.of.number|isPassage, nil, bounds, len(bounds)) {
			return false
		}
		b.cited += b.last.size()
		b.last.from = b.last.end
	}
	if len(b.rest) > 0 && !b.write(b.last.of.number, b.rest) {
		return false
	}
	b.passRest()
	b.rest = b.rest[:0]
	return true
}

// passRest moves last behind rest.
func (b *backlog) passRest() {
	b.last.end += int64(len(b.rest))
	b.last.from = b.last.end
}

// room returns how much may wait in the spool.
func (b *backlog) room() int64 {
	if b.whole {
		return math.MaxInt64
	}
	spent := trustTime + b.spent
	if !b.since.IsZero() {
		spent += time.Since(b.since)
	}
	return spoolBacklog + int64(float64(trustSize+b.taken)*spoolTime.Seconds()/spent.Seconds())
}

// begin and took enclose a write of n bytes.
func (b *backlog) begin() { b.since = time.Now() }

func (b *backlog) took(n int) {
	b.taken += int64(n)
	b.spent += time.Since(b.since)
	b.since = time.Time{}
}

// next takes off what comes next, which must be readable: a chunk or, where
// that has no text, a passage or, where that is empty, the next frame.
func (b *backlog) next() (c chunk, part passage) {
	switch {
	case len(b.queue) > 0:
		c = b.queue[0]
		b.queue = b.queue[1:]
		b.size -= cap(c.text)
	case b.head.size() > 0:
		part = b.head.cut()
	case b.waiting > 0:
	case b.last.size() > 0:
		part = b.last.cut()
	default:
		c = chunk{b.last.of, b.rest}
		b.passRest()
		b.rest = nil
	}
	return c, part
}

// shrink takes note that a frame was read.
func (b *backlog) shrink(f frame) {
	b.head = f.part
	b.cited -= f.part.size()
	b.repeated -= f.unread
	if b.waiting = b.spool.Len(); b.waiting == 0 {
		b.spool.Reset()
	}
}

// close drops everything.
func (b *backlog) close() {
	b.queue, b.size, b.head, b.waiting, b.cited, b.repeated, b.last, b.rest, b.piece = nil, 0, passage{}, 0, 0, 0, passage{}, nil, nil
	b.spool.Close()
	for _, t := range b.tracks {
		if t.log != nil {
			t.log.Close()
		}
	}
}
