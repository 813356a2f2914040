package output

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
