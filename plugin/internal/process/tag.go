package process

import "math/rand/v2"

// A pluginID identifies one plugin process in the tags of its commands.
type pluginID uint32

func newPluginID() pluginID { return pluginID(rand.Uint32()>>2 | 1) }

// A tag is the number that every process of a group inherits: the plugin, a byte
// that tells tags from limits that people choose, and the group's number.
type tag uint64

const (
	tagByte = 0xb5 << 24
	tagMask = 0xff << 24
)

// tag returns the tag of a group. Different plugins have different tags.
func (p pluginID) tag(number uint32) tag {
	return tag(p)<<32 | tagByte | tag(number)&^tagMask
}

// plugin returns the plugin of a tag, 0 if the number is not a tag.
func (t tag) plugin() pluginID {
	if t&tagMask != tagByte {
		return 0
	}
	return pluginID(t >> 32)
}
