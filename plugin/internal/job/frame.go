package job

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A frame in the spool begins with its track's number and its length. It holds
// bytes or, with isPassage, the bounds of a passage or, with isRepeated, how
// many bytes it stands for and the unit that they repeat.
const (
	frameHeader = 5
	isPassage   = 1 << 7
	isRepeated  = 1 << 6
)

// frame is what was read of one.
type frame struct {
	chunk
	part   passage
	unread int64 // bytes that it stands for and that were not in the spool
}

// writeFrame adds a frame of front and p to the spool that stands for size bytes.
func (b *backlog) writeFrame(kind byte, front, p []byte, size int) bool {
	if b.waiting+b.repeated+int64(size) > b.room() {
		return false
	}
	header := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(front)+len(p)))
	n, err := b.spool.Write(append(header, front...), p)
	b.waiting += int64(n)
	b.alone = b.alone && err != nil
	return err == nil
}

// write adds bytes of a track to the spool, or what they repeat: a flood of NULs
// or of one line comes faster than the disk takes it.
func (b *backlog) write(number byte, p []byte) bool {
	unit := unitOf(p)
	if unit == nil {
		return b.writeFrame(number, nil, p, len(p))
	}
	size := binary.BigEndian.AppendUint32(nil, uint32(len(p)))
	if !b.writeFrame(number|isRepeated, size, unit, len(p)) {
		return false
	}
	b.repeated += int64(len(p))
	return true
}

const (
	// maxUnit is the length of a unit, at most.
	maxUnit = 4 << 10

	// unitSample of a chunk are looked for in its beginning: longer than the
	// repetitions that a unit may have within itself.
	unitSample = 256
)

// unitOf returns what p repeats from its beginning to its end. nil: there is no
// such thing, or p is short.
func unitOf(p []byte) []byte {
	if len(p) < 4*maxUnit {
		return nil
	}
	at := bytes.Index(p[1:maxUnit+unitSample], p[:unitSample])
	if n := at + 1; at >= 0 && bytes.Equal(p[n:], p[:len(p)-n]) {
		return p[:n]
	}
	return nil
}

// readFrame reads the first frame in the spool. It may be called beside store,
// and is followed by shrink.
func (b *backlog) readFrame() (f frame, err error) {
	var header [frameHeader]byte
	if _, err = b.spool.Read(header[:]); err != nil {
		return f, err
	}
	b.piece = slices.Grow(b.piece[:0], int(binary.BigEndian.Uint32(header[1:])))
	text := b.piece[:binary.BigEndian.Uint32(header[1:])]
	if _, err = b.spool.Read(text); err != nil {
		return f, err
	}
	of := b.tracks[header[0]&^(isPassage|isRepeated)]
	switch {
	case header[0]&isPassage != 0:
		f.part = passage{of, int64(binary.BigEndian.Uint64(text)), int64(binary.BigEndian.Uint64(text[8:]))}
	case header[0]&isRepeated != 0:
		size := int(binary.BigEndian.Uint32(text))
		b.piece = repeat(slices.Grow(text, size), 4, size)
		f.chunk = chunk{of, b.piece}
		f.unread = int64(len(f.text))
	default:
		f.chunk = chunk{of, text}
	}
	return f, nil
}

// repeat returns size bytes of the unit that p holds behind its first skip bytes,
// in the memory of p.
func repeat(p []byte, skip, size int) []byte {
	n := copy(p, p[skip:])
	for p = p[:n]; len(p) < size; {
		p = append(p, p[:min(len(p), size-len(p))]...)
	}
	return p
}
