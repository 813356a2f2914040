package muxconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// A yamux frame begins with version, type, flags (2 bytes), stream (4) and length
// (4). A data frame has that many bytes after the header; in a ping, the length
// field holds the ping's number.
const (
	headerSize = 12

	typeData = 0
	typePing = 2

	flagSYN = 1 // marks a ping
	flagACK = 2 // marks its answer

	// maxBody bounds the body of a frame. yamux allows 256 KiB.
	maxBody = 1 << 20
)

// bodySize returns how many bytes follow a header.
func bodySize(header []byte) int {
	if header[1] != typeData {
		return 0
	}
	return int(binary.BigEndian.Uint32(header[8:]))
}

func isPing(header []byte) bool {
	return header[1] == typePing && binary.BigEndian.Uint16(header[2:]) == flagSYN
}

func isPong(header []byte) bool {
	return header[1] == typePing && binary.BigEndian.Uint16(header[2:]) == flagACK
}

// pong returns the answer to a ping.
func pong(ping []byte) []byte {
	answer := bytes.Clone(ping)
	binary.BigEndian.PutUint16(answer[2:], flagACK)
	return answer
}

// heartbeat returns the answer to a ping that was never sent: the multiplexer of the other side
// ignores it.
func heartbeat() []byte {
	ping := make([]byte, headerSize)
	ping[1] = typePing
	binary.BigEndian.PutUint16(ping[2:], flagACK)
	binary.BigEndian.PutUint32(ping[8:], 1<<32-1) // yamux counts its own from 0 up
	return ping
}

// readSize is how much of a connection is read at a time.
const readSize = 32 << 10

// frames are bytes that have come, which are handed on as whole frames only. The zero value is
// empty.
type frames struct {
	bytes []byte
	from  int // the bytes before it are handed on
	whole int // where the last whole frame ends

	// count is how many bytes have come since counted was called, without pings.
	count int64
}

// take copies bytes of whole frames to p.
func (f *frames) take(p []byte) int {
	n := copy(p, f.bytes[f.from:f.whole])
	f.from += n
	return n
}

// readFrom reads once. The caller must have taken all whole frames.
func (f *frames) readFrom(conn io.Reader) error {
	rest := copy(f.bytes, f.bytes[f.from:])
	f.from = 0
	f.whole = 0
	if cap(f.bytes) < rest+readSize {
		f.bytes = append(make([]byte, 0, 2*(rest+readSize)), f.bytes[:rest]...)
	}
	f.bytes = f.bytes[:rest+readSize]
	n, err := conn.Read(f.bytes[rest:])
	f.bytes = f.bytes[:rest+n]
	if n == 0 {
		return err
	}
	return f.advance()
}

// advance moves whole to the end of the last frame that has come completely.
func (f *frames) advance() error {
	for len(f.bytes)-f.whole >= headerSize {
		header := f.bytes[f.whole : f.whole+headerSize]
		size := bodySize(header)
		if size > maxBody {
			return errors.New("a frame is too large")
		}
		end := f.whole + headerSize + size
		if end > len(f.bytes) {
			break
		}
		if !isPing(header) && !isPong(header) {
			f.count += int64(end - f.whole)
		}
		f.whole = end
	}
	return nil
}

// counted returns how many bytes have come since it was last called, without pings.
func (f *frames) counted() int64 {
	n := f.count
	f.count = 0
	return n
}
