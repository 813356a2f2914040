package muxconn

import (
	"bytes"
	"encoding/binary"
)

// A frame of yamux begins with version, type, flags (2 bytes), stream (4) and
// length (4). As many bytes follow where the type is data; of a ping, length is its
// number.
const (
	headerSize = 12

	typeData = 0
	typePing = 2

	flagSYN = 1 // of a ping: the question
	flagACK = 2 // the answer
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

// frame is a frame of which some bytes have come. The zero value is one of which
// none have.
type frame struct {
	header [headerSize]byte
	have   int // bytes of header
	body   int // bytes still to come, once header is complete
}

func (f *frame) isWhole() bool { return f.have == 0 && f.body == 0 }

// follow takes note of the next bytes of a stream of frames.
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
