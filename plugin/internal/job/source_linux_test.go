package job

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a program leaves in its pipe when it exits without waiting is not cut at
// 64 KiB; but not so many pipes are large that the system runs out of them.
func TestPipesAreLargeFromTheirBeginning(t *testing.T) {
	floods := NewFloods(0)
	var sources []*source
	size := func() int {
		s, write, err := newSource(floods, func([]byte) <-chan struct{} { return nil }, func() {})
		require.NoError(t, err)
		defer write.Close()
		sources = append(sources, s)
		size, err := unix.FcntlInt(write.Fd(), unix.F_GETPIPE_SZ, 0)
		require.NoError(t, err)
		return size
	}
	for range maxLarge {
		assert.Equal(t, pipeSize, size())
	}
	assert.Less(t, size(), pipeSize)
	for _, s := range sources {
		s.run()
	}
	assert.Equal(t, pipeSize, size())
	sources[len(sources)-1].release()
	assert.Zero(t, floods.large.Load())
}
