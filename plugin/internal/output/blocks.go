package output

import (
	"sync"
	"unicode/utf8"
)

const (
	// blockSize is how much of a flood is written to its log at a time, while
	// the next block fills: from one multiple to the next, give or take a rune.
	// What is written across the borders of large pages takes the system twice
	// the time.
	blockSize = 256 << 10

	// maxBlocks bounds the blocks of all logs. A log that gets none writes what
	// it has at once.
	maxBlocks = 32
)

// blocks is the memory of the logs that are being written: an idle one has
// none. It is safe for concurrent use.
type blocks struct {
	pool sync.Pool
	room chan struct{}
}

func newBlocks() *blocks {
	return &blocks{
		pool: sync.Pool{New: func() any { b := make([]byte, 0, blockSize+utf8.UTFMax); return &b }},
		room: make(chan struct{}, maxBlocks),
	}
}

// blockAt returns how long a block is that begins at a position of the log.
func blockAt(begin int64) int {
	if n := blockSize - int(begin%blockSize); n >= utf8.UTFMax {
		return n
	}
	return 2*blockSize - int(begin%blockSize)
}

// take returns an empty block, nil where there are as many as may be.
func (b *blocks) take() *[]byte {
	select {
	case b.room <- struct{}{}:
		return b.pool.Get().(*[]byte)
	default:
		return nil
	}
}

func (b *blocks) free(block *[]byte) {
	*block = (*block)[:0]
	b.pool.Put(block)
	<-b.room
}
