package output

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What was read is given back: the bound is on what waits.
func TestSpoolHoldsWhatWaits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives back the front of a file")
	}
	dir := t.TempDir()
	logs := NewLogs(LogsConfig{Dir: dir, MaxSessionBytes: 2 * spoolStep})
	defer logs.Close()
	s := logs.NewSpool()
	defer s.Close()
	block, got := make([]byte, 1<<20), make([]byte, 1<<20)
	for i := range 100 {
		block[0] = byte(i)
		_, err := s.Write(block[:1], block[1:])
		require.NoError(t, err)
		_, err = s.Read(got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(block, got))
	}
	var err error
	written := 0
	for ; err == nil; written++ {
		_, err = s.Write(block[:1], block[1:])
	}
	assert.GreaterOrEqual(t, written, 16)
	assert.LessOrEqual(t, written, 2*spoolStep>>20)
	s.Reset()
	assert.EqualValues(t, 2*spoolStep, logs.left.Load(), "everything is given back")
	names, err := os.ReadDir(logs.Folder())
	require.NoError(t, err)
	assert.Len(t, names, 1, "the file has no name")
}

// What was written comes back as it was, whatever the pieces.
func TestSpoolIsExact(t *testing.T) {
	logs := NewLogs(LogsConfig{Dir: t.TempDir()})
	defer logs.Close()
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := make([]byte, 2<<20+r.IntN(100))
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		size := func(left int) int { return min(left, r.IntN(1+r.IntN(3*spoolUnit))) }
		s := logs.NewSpool()
		written := make(chan int, len(want))
		var reading sync.WaitGroup
		var got []byte
		reading.Go(func() {
			r := rand.New(rand.NewPCG(seed, 2))
			for n := range written {
				for n > 0 {
					p := make([]byte, 1+r.IntN(n))
					if _, err := s.Read(p); !assert.NoError(t, err) {
						return
					}
					got = append(got, p...)
					n -= len(p)
				}
			}
		})
		for rest := want; len(rest) > 0; {
			n := size(len(rest))
			head := size(n)
			_, err := s.Write(rest[:head], rest[head:n])
			require.NoError(t, err)
			rest = rest[n:]
			written <- n
		}
		close(written)
		reading.Wait()
		require.True(t, bytes.Equal(want, got))
		info, err := s.file.Stat()
		require.NoError(t, err)
		assert.EqualValues(t, len(want)/spoolUnit*spoolUnit, info.Size())
		s.Close()
	}
}

// A disk that takes no more costs nothing of what was taken.
func TestSpoolOnAFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is Linux's")
	}
	logs := NewLogs(LogsConfig{Dir: t.TempDir()})
	defer logs.Close()
	left := logs.left.Load()
	s := logs.NewSpool()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	require.NoError(t, err)
	s.file = full
	_, err = s.Write([]byte("a"), []byte("b"))
	require.ErrorIs(t, err, syscall.ENOSPC, "it is known at once")
	assert.Zero(t, s.Len())
	s.file = nil
	unit := make([]byte, spoolUnit)
	_, err = s.Write(nil, unit)
	require.NoError(t, err)
	_, err = s.Read(unit)
	require.NoError(t, err)
	s.file.Close()
	s.file = full
	_, err = s.Write([]byte("ab"), make([]byte, spoolUnit-10))
	require.NoError(t, err)
	_, err = s.Write([]byte("123456789"), []byte("cd"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	_, err = s.Write([]byte("e"), []byte("f"))
	require.NoError(t, err)
	require.EqualValues(t, spoolUnit-6, s.Len())
	got := make([]byte, spoolUnit-6)
	_, err = s.Read(got)
	require.NoError(t, err)
	assert.Equal(t, "ab", string(bytes.Trim(got[:4], "\x00")))
	assert.Equal(t, "ef", string(bytes.Trim(got[len(got)-4:], "\x00")))
	s.Close()
	assert.Equal(t, left, logs.left.Load())
}

func TestSpoolLeavesTheLogsAQuarter(t *testing.T) {
	logs := NewLogs(LogsConfig{Dir: t.TempDir(), MaxSessionBytes: 40 << 20})
	defer logs.Close()
	s := logs.NewSpool()
	defer s.Close()
	block := make([]byte, 1<<20)
	var err error
	for err == nil {
		_, err = s.Write(nil, block)
	}
	assert.EqualValues(t, 30<<20, s.Len())
	allowed, reason := logs.allow(0, 10<<20)
	assert.Equal(t, 10<<20, allowed, reason)
}

func TestSpoolTakesWhatRemovedLogsHeld(t *testing.T) {
	logs := NewLogs(LogsConfig{Dir: t.TempDir(), MaxSessionBytes: 8 << 20})
	defer logs.Close()
	log, err := logs.create("a.log")
	require.NoError(t, err)
	log.write(make([]byte, 8<<20))
	log.close()
	s := logs.NewSpool()
	defer s.Close()
	_, err = s.Write(nil, make([]byte, 1<<20))
	require.Error(t, err)
	require.NoError(t, os.Remove(log.path))
	logs.looked = time.Time{} // long ago
	_, err = s.Write(nil, make([]byte, 1<<20))
	assert.NoError(t, err)
}

func TestSpoolMakesTheFolderAgain(t *testing.T) {
	logs := NewLogs(LogsConfig{Dir: t.TempDir()})
	defer logs.Close()
	_, err := logs.create("first")
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(logs.Folder()))
	s := logs.NewSpool()
	defer s.Close()
	_, err = s.Write(nil, []byte("text"))
	require.NoError(t, err)
}

func TestAFolderGoesWhoseLogsWereRemoved(t *testing.T) {
	for _, removed := range []bool{false, true} {
		logs := NewLogs(LogsConfig{Dir: t.TempDir()})
		log, err := logs.create("log")
		require.NoError(t, err)
		log.close()
		if removed {
			require.NoError(t, os.Remove(log.path))
		}
		require.NoError(t, logs.Close())
		_, err = os.Stat(logs.Folder())
		assert.Equal(t, removed, errors.Is(err, fs.ErrNotExist))
	}
}

// The name of a log directory is no pattern.
func TestSweepOfAFolderWithBrackets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]")
	logs := NewLogs(LogsConfig{Dir: dir, Retention: 1})
	_, err := logs.create("log")
	require.NoError(t, err)
	require.NoError(t, logs.Close())
	Sweep(dir)
	assert.NoDirExists(t, logs.Folder())
}
