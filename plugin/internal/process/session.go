package process

import (
	"crypto/rand"
	"encoding/binary"
)

// session identifies a plugin's life in the mark that its processes inherit.
type session uint32

func newSession() session {
	var text [4]byte
	_, _ = rand.Read(text[:]) // never fails
	return session(binary.NativeEndian.Uint32(text[:])>>2 | 1)
}

// mark is that of a group. Different sessions have none in common.
func (s session) mark(number uint32) uint64 { return uint64(s)<<32 | uint64(number) }

func (s session) hasMark(mark uint64) bool { return uint32(mark>>32) == uint32(s) }
