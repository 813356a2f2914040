package process

import (
	"crypto/rand"
	"encoding/binary"
)

// An instance identifies a plugin's life in the marks of its processes.
type instance uint32

// A mark is what every process of a group inherits: the instance, a byte that
// limits which people choose do not have there by chance, and the group's
// number.
type mark uint64

const (
	markByte      = 0xb5
	markByteShift = 24
	instanceShift = 32
	maxNumber     = 1<<markByteShift - 1
)

func newInstance() instance {
	var text [4]byte
	_, _ = rand.Read(text[:]) // never fails
	return instance(binary.NativeEndian.Uint32(text[:])>>2 | 1)
}

// mark returns the mark of a group. Different instances have none in common.
func (i instance) mark(number uint32) mark {
	return mark(i)<<instanceShift | markByte<<markByteShift | mark(number&maxNumber)
}

// instance returns the instance of a mark, 0 if the number is no mark.
func (m mark) instance() instance {
	if m>>markByteShift&0xff != markByte {
		return 0
	}
	return instance(m >> instanceShift)
}
