package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// A full disk costs the log, and nothing else.
func TestLogOnAFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is Linux's")
	}
	t.Parallel()
	logs := NewLogs(LogsConfig{Dir: t.TempDir()})
	defer logs.Close()
	s := NewStream(StreamConfig{Logs: logs, Name: "log"})
	s.Keep()
	write(t, s, "before\n")
	s.Show(defaults, View{All: true})
	file := s.log.file.file // nothing is being written
	s.log.file.file, _ = os.OpenFile("/dev/full", os.O_RDWR, 0)
	file.Close()
	write(t, s, strings.Repeat("after\n", 100_000))
	require.NoError(t, s.Close())
	out := s.Show(defaults, View{})
	assert.Contains(t, out.PathError, "the log ends after 7 bytes: no space left on device")
	assert.EqualValues(t, 100_001, out.TotalLines)
	assert.True(t, strings.HasSuffix(out.Content, "after\nafter\n"))
}

// A disk that is stuck holds up the command, but not a reader of what is in memory.
func TestLogOnAStuckDisk(t *testing.T) {
	t.Parallel()
	logs := NewLogs(LogsConfig{Dir: t.TempDir()})
	s := NewStream(StreamConfig{Logs: logs, Name: "log"})
	w := s.Watch(regexp.MustCompile(`needle`), false)
	logs.mu.Lock() // no log can be made or written
	changed := s.Changed()
	s.Keep()
	write(t, s, "needle\n")
	<-changed
	assert.True(t, match(w))
	assert.True(t, s.Written())
	shown := make(chan shared.Output)
	go func() { shown <- s.Show(defaults, View{All: true}) }()
	for s.log.disk.TryLock() { // until Show has the disk, and waits
		s.log.disk.Unlock()
		runtime.Gosched()
	}
	done, hay := make(chan struct{}), strings.Repeat("hay\n", 1<<20)
	go func() {
		defer close(done)
		write(t, s, hay)
		s.Ready()
	}()
	filled := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.log.fill)
	}
	for changed := s.Changed(); filled() < fillSize-writeSize; changed = s.Changed() {
		<-changed
	}
	assert.LessOrEqual(t, filled(), fillSize+writeSize)
	select {
	case <-done:
		t.Error("the command was not held up")
	case <-shown:
		t.Error("Show did not wait for the log")
	default:
	}
	logs.mu.Unlock()
	<-done
	assert.Empty(t, (<-shown).PathError)
	require.NoError(t, s.Close())
	assert.Equal(t, "needle\n"+hay, logText(t, s.Show(defaults, View{All: true})))
}

// A log that was removed counts no more.
func TestARemovedLogMakesRoom(t *testing.T) {
	t.Parallel()
	logs := NewLogs(LogsConfig{Dir: t.TempDir(), MaxSessionBytes: 1 << 20})
	defer logs.Close()
	first := NewStream(StreamConfig{Logs: logs, Name: "1.log"})
	write(t, first, strings.Repeat("x\n", 1<<19))
	require.NoError(t, first.Close())
	problem := func(name string) string {
		s := NewStream(StreamConfig{Logs: logs, Name: name})
		s.Keep()
		write(t, s, "text\n")
		require.NoError(t, s.Close())
		return s.Show(defaults, View{All: true}).PathError
	}
	assert.Contains(t, problem("2.log"), "the logs of this session may hold 1048576 bytes; remove some to make room")
	require.NoError(t, os.Remove(first.Show(defaults, View{All: true}).Path))
	assert.Empty(t, problem("3.log"))
}

func TestAFolderThatWasRemovedIsMadeAgain(t *testing.T) {
	t.Parallel()
	logs := NewLogs(LogsConfig{Dir: filepath.Join(t.TempDir(), "above", "logs")})
	defer logs.Close()
	first, err := logs.create("first")
	require.NoError(t, err)
	for _, dir := range []string{filepath.Dir(first.path), logs.cfg.Dir, filepath.Dir(logs.cfg.Dir)} {
		require.NoError(t, os.RemoveAll(dir))
		again, err := logs.create("again")
		require.NoError(t, err)
		assert.FileExists(t, again.path)
	}
}

func TestAFolderGoesWhoseLogsWereRemoved(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		logs := NewLogs(LogsConfig{Dir: t.TempDir()})
		log, err := logs.create("log")
		require.NoError(t, err)
		log.file.Close()
		if removed {
			require.NoError(t, os.Remove(log.path))
		}
		require.NoError(t, logs.Close())
		_, err = os.Stat(filepath.Dir(log.path))
		assert.Equal(t, removed, errors.Is(err, fs.ErrNotExist))
	}
}

// The name of a log directory is no pattern.
func TestSweepOfAFolderWithBrackets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]")
	logs := NewLogs(LogsConfig{Dir: dir, Retention: 1})
	log, err := logs.create("log")
	require.NoError(t, err)
	require.NoError(t, logs.Close())
	NewFolder(dir).Sweep()
	assert.NoDirExists(t, filepath.Dir(log.path))
}
