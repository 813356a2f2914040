package job

import (
	"io"

	"bashplugin/plugin/internal/output"
)

// track is one stream of a command: raw bytes go to the Stream and, where
// somebody wants one, to the live copy.
type track struct {
	stream *output.Stream
	live   *live     // nil: no copy
	to     io.Writer // nil: none of this one
	number byte      // of the track, for the live copy

	// Guarded by live.mu.
	log    *output.LogReader // nil: not needed yet
	gap    gap               // since the last that is in the backlog
	surge  surge
	failed bool // to did; only the goroutine of live changes it

	// Used by whoever writes.
	total    int64 // bytes that came
	verbatim int64 // the first of them that the log holds as they came
	apart    bool  // it will not hold more such
}

// write takes what was read from the pipe. One at a time may call it, and the
// next one only when this one's p is free.
func (t *track) write(p []byte) (free <-chan struct{}) {
	t.total += int64(len(p))
	switch copied := t.live == nil || t.to == nil || t.live.put(t, p); {
	case copied:
		_, _ = t.stream.Write(p)
	case t.apart && len(p) >= bufferSize: // it gets to the disk while the Stream has it and more is read
		stored := make(chan struct{})
		go func() {
			defer close(stored)
			t.live.store(t, p, nil)
		}()
		_, _ = t.stream.Write(p)
		return stored
	case t.apart:
		t.live.store(t, p, nil)
		_, _ = t.stream.Write(p)
	default:
		_, _ = t.stream.Write(p)
		log, verbatim, mayGrow := t.stream.Verbatim()
		if t.verbatim, t.apart = verbatim, !mayGrow; t.apart {
			t.stream.Flush() // the file may never be given more
		}
		t.live.store(t, p, log)
	}
	return nil
}

// isBeside reports whether what came before the last n bytes is not in the log as
// it came, as far as is known: while the copy keeps up, nobody looks.
func (t *track) isBeside(n int) bool { return t.total-int64(n)-t.verbatim > remainder }

// pause says that no more is expected at once.
func (t *track) pause() {
	t.stream.Flush()
	t.live.look()
}

// passage is a part of a stream that its log holds as it came.
type passage struct {
	of        *track
	from, end int64
}

func (p *passage) size() int64 { return p.end - p.from }

// isReadable reports whether something of the passage is in the log, or never
// will be.
func (p *passage) isReadable() bool {
	has, mayGrow := p.of.log.Size()
	return has > p.from || !mayGrow
}

// cut takes off what read can handle next. The passage must be readable.
func (p *passage) cut() passage {
	first := *p
	if has, _ := p.of.log.Size(); has > p.from {
		first.end = min(p.end, has, p.from+pieceSize)
	}
	p.from = first.end
	return first
}

// read reads what was cut, into memory if that is large enough. Something else
// may have taken it off the disk.
func (p *passage) read(memory []byte) []byte {
	if int64(cap(memory)) < pieceSize {
		memory = make([]byte, pieceSize)
	}
	n, _ := p.of.log.ReadAt(memory[:min(p.size(), pieceSize)], p.from)
	text := memory[:n]
	if lost := p.size() - int64(n); lost > 0 {
		text = append(text, marker(lost)...)
	}
	return text
}
