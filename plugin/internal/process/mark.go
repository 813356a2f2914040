package process

import "math/rand/v2"

// An instance identifies one plugin process in the marks of its commands.
type instance uint32

func newInstance() instance { return instance(rand.Uint32()>>2 | 1) }

// A mark is the number that every process of a group inherits: the instance, a byte
// that tells marks from limits that people choose, and the group's number.
type mark uint64

const (
	markByte  = 0xb5 << 24
	markBytes = 0xff << 24
)

// mark returns the mark of a group. Different instances have different marks.
func (i instance) mark(number uint32) mark {
	return mark(i)<<32 | markByte | mark(number)&^markBytes
}

// instance returns the instance of a mark, 0 if the number is not a mark.
func (m mark) instance() instance {
	if m&markBytes != markByte {
		return 0
	}
	return instance(m >> 32)
}
