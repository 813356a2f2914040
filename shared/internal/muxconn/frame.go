package muxconn

import (
	"bytes"
	"encoding/binary"
)

// A yamux frame begins with version, type, flags (2 bytes), stream (4) and length
// (4). A data frame has that many bytes after the header; in a ping, the length
// field holds the ping's number.
const (
	headerSize = 12

	typeData = 0
	typePing = 2

	flagSYN = 1 // marks the question of a ping
	flagACK = 2 // marks its answer
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

// pong returns the answer to a ping.
func pong(ping []byte) []byte {
	answer := bytes.Clone(ping)
	binary.BigEndian.PutUint16(answer[2:], flagACK)
	return answer
}

// frame is how far a reader of frames is. The zero value is at the beginning of a
// frame.
type frame struct {
	header [headerSize]byte
	have   int // bytes of header read so far
	body   int // bytes of the body still to come
}

func (f *frame) isWhole() bool { return f.have == 0 && f.body == 0 }

// follow advances over the next bytes of a stream of frames.
func (f *frame) follow(p []byte) {
	for len(p) > 0 {
		if f.body > 0 {
			n := min(f.body, len(p))
			f.body -= n
			p = p[n:]
			continue
		}
		n := copy(f.header[f.have:], p)
		p = p[n:]
		if f.have += n; f.have == headerSize {
			f.have, f.body = 0, bodySize(f.header[:])
		}
	}
}
