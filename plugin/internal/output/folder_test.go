package output

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogsThatACommandMayChange(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(path string) string { return filepath.Join(root, path) }
	require.NoError(t, os.MkdirAll(in("work/logs"), 0o700))
	require.NoError(t, os.MkdirAll(in("safe/logs"), 0o700))
	require.NoError(t, os.Symlink(in("safe/logs"), in("work/link")))
	require.NoError(t, os.Symlink(in("work"), in("safe/link")))
	for _, test := range []struct {
		logs, writable string
		want           bool
	}{
		{"work/logs", "work/logs", true},
		{"work/logs", "work", true},
		{"work/logs", "", true},
		{"work/none/yet", "work", true},
		{"safe/link/logs", "work", true},
		{"safe/link/none/yet", "work", true},
		{"work/link", "work", true}, // the command may have made that link
		{"safe/logs", "work", false},
		{"work/logs2", "work/logs", false},
		{"work", "work/logs", false},
	} {
		logs := NewLogs(LogsConfig{Dir: in(test.logs)})
		assert.Equal(t, test.want, logs.Below([]string{"/none", in(test.writable)}), "%v", test)
		assert.False(t, logs.Below(nil))
		require.NoError(t, logs.Close())
	}
	assert.NoDirExists(t, in("work/none"), "asking makes nothing")
	assert.True(t, NewLogs(LogsConfig{Dir: in("work/logs")}).Below([]string{"/"}))
}

// A Logs that is open does not follow what a command does to the path of its folder.
func TestAFolderThatWasReplaced(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(dir, outside string) error{
		"by a link":            func(dir, outside string) error { return os.Symlink(outside, dir) },
		"by a link to nowhere": func(dir, outside string) error { return os.Symlink(outside+"/none", dir) },
		"by a link above":      func(dir, outside string) error { return replaceAbove(dir, outside) },
		"by a FIFO":            func(dir, _ string) error { return syscall.Mkfifo(dir, 0o600) },
		"by a file":            func(dir, _ string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		for _, moved := range []bool{true, false} {
			root, outside := t.TempDir(), t.TempDir()
			dir, aside := filepath.Join(root, "above", "logs"), filepath.Join(root, "aside")
			logs := NewLogs(LogsConfig{Dir: dir})
			require.NoError(t, logs.Open())
			if moved {
				require.NoError(t, os.Rename(dir, aside))
			} else {
				require.NoError(t, os.Remove(dir))
			}
			require.NoError(t, replace(dir, outside), name)
			log, err := logs.create("log")
			if moved {
				require.NoError(t, err, name)
				assert.FileExists(t, filepath.Join(aside, filepath.Base(filepath.Dir(log.path)), "log"))
				assert.NotEmpty(t, log.problem())
				log.file.Close()
			} else {
				require.ErrorContains(t, err, "no log: ", name)
			}
			logs.Sweep()
			require.NoError(t, logs.Close())
			left, err := os.ReadDir(outside)
			require.NoError(t, err)
			assert.Empty(t, left, name)
		}
	}
}

func replaceAbove(dir, outside string) error {
	above := filepath.Dir(dir)
	err := os.Remove(above)
	if err != nil {
		return err
	}
	return os.Symlink(outside, above)
}

// Logs that share a Folder which is removed close without an error, and go on in a new one.
func TestAFolderThatLogsShareIsRemoved(t *testing.T) {
	t.Parallel()
	for _, retention := range []time.Duration{0, -1} {
		dir := filepath.Join(t.TempDir(), "logs")
		folder := NewFolder(dir)
		first := NewLogs(LogsConfig{Folder: folder, Retention: retention})
		second := NewLogs(LogsConfig{Folder: folder, Retention: retention})
		old, err := first.create("log")
		require.NoError(t, err)
		old.file.Close()
		require.NoError(t, os.RemoveAll(dir))
		log, err := second.create("log")
		require.NoError(t, err)
		log.file.Close()
		assert.FileExists(t, log.path)
		assert.Contains(t, old.problem(), "the log cannot be found any more")
		assert.Empty(t, old.text(0, 1))
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
		folder.Close()
	}
}

// A link to a private folder of the user is not the default folder: another user may have
// put it there.
func TestTheDefaultFolderIsNoLink(t *testing.T) {
	temp, private := t.TempDir(), filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(private, 0o700))
	t.Setenv("TMPDIR", temp)
	require.NoError(t, os.Symlink(private, DefaultLogDir()))
	logs := NewLogs(LogsConfig{})
	require.ErrorContains(t, logs.Open(), "is not a private folder of this user")
	_, err := logs.create("log")
	require.ErrorContains(t, err, "is not a private folder of this user")
	require.NoError(t, logs.Close())
}

// A process that takes the locks of new sessions for itself delays nobody.
func TestLocksThatAnotherTakes(t *testing.T) {
	t.Parallel()
	dir, done := t.TempDir(), make(chan struct{})
	var wg sync.WaitGroup
	var taken []*os.File
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			locks, _ := filepath.Glob(filepath.Join(dir, "*", lockName))
			for _, path := range locks {
				lock, err := os.Open(path)
				if err != nil {
					continue
				}
				if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
					taken = append(taken, lock)
				} else {
					lock.Close()
				}
			}
		}
	})
	for range 500 {
		logs := NewLogs(LogsConfig{Dir: dir, Retention: -1})
		if log, err := logs.create("log"); err == nil {
			log.file.Close()
		}
		require.NoError(t, logs.Close())
	}
	close(done)
	wg.Wait()
	for _, lock := range taken {
		lock.Close()
	}
}
