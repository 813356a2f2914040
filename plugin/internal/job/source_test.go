package job

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A sink that takes its time with what it was given finds it as it was, in
// order, and has it all before the pause.
func TestWhatASinkKeepsIsLeftAlone(t *testing.T) {
	want := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(want)
	var got []byte
	kept, pauses := 0, []int{}
	sink := func(p []byte) <-chan struct{} {
		if len(p) < bufferSize {
			got = append(got, p...)
			return nil
		}
		kept++
		free := make(chan struct{})
		go func() {
			defer close(free)
			time.Sleep(time.Millisecond)
			got = append(got, p...)
		}()
		return free
	}
	s, write, err := newSource(NewFloods(0), sink, func() { pauses = append(pauses, len(got)) })
	require.NoError(t, err)
	go s.run()
	go writeAll(write, want)
	<-s.done
	assert.True(t, bytes.Equal(want, got))
	assert.Positive(t, kept, "large chunks")
	assert.Equal(t, len(want), pauses[len(pauses)-1])
}

// A process that is not the command's may have opened the pipe: it goes on
// writing when the command is over, and holds nobody up.
func TestClosingASourceThatSomebodyFloods(t *testing.T) {
	s, write, err := newSource(NewFloods(0), func([]byte) <-chan struct{} { time.Sleep(10 * time.Millisecond); return nil }, func() {})
	require.NoError(t, err)
	go s.run()
	go func() {
		defer write.Close()
		for chunk := make([]byte, pipeSize); err == nil; {
			_, err = write.Write(chunk)
		}
	}()
	require.Eventually(t, func() bool { return s.taken() >= 2*pipeSize }, 20*time.Second, time.Millisecond)
	closed := make(chan struct{})
	go func() {
		s.close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it is read on and on")
	}
}

func writeAll(to *os.File, p []byte) {
	defer to.Close()
	_, _ = to.Write(p)
}

// A flood that ends while it waits for output does not count as one that waits
// any more.
func TestNoFloodWaitsThatHasEnded(t *testing.T) {
	floods := NewFloods(0)
	for range 300 {
		s, write, err := newSource(floods, func([]byte) <-chan struct{} { return nil }, func() {})
		require.NoError(t, err)
		go s.run()
		writeAll(write, make([]byte, 2<<20))
		s.drain()
		s.close()
	}
	assert.Zero(t, floods.active)
	assert.Zero(t, floods.waiting)
}
