package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// faultDisk mounts a small disk for one test.
func faultDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a disk to fill (this needs root):", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// faultSeq is a command with an exit code, whose output is longer than what a
// Result shows.
const faultSeq = "seq 200000; seq 3 >&2; exit 7"

// requireFaultSeq checks everything in the account of faultSeq that does not
// depend on its log.
func requireFaultSeq(t *testing.T, r *shared.Result) {
	t.Helper()
	assert.Equal(t, 7, r.ExitCode)
	assert.Equal(t, plugintest.Seq(198001, 200000), r.Stdout.Content)
	assert.EqualValues(t, 200000, r.Stdout.TotalLines)
	assert.EqualValues(t, len(plugintest.Seq(1, 200000)), r.Stdout.TotalBytes)
	assert.Equal(t, plugintest.Seq(1, 3), r.Stderr.Content)
}

func TestFaultDiskFull(t *testing.T) {
	t.Parallel()
	dir := faultDisk(t, "256k")
	bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir})
	r := plugintest.Run(t, bash, faultSeq)
	requireFaultSeq(t, r)
	assert.Contains(t, r.Stdout.PathError, "no space left on device")
	log := plugintest.ReadFile(t, r.Stdout.Path)
	assert.NotEmpty(t, log)
	assert.True(t, strings.HasPrefix(plugintest.Seq(1, 200000), log), "what the log holds is an unbroken beginning")
	assert.Contains(t, r.Stdout.PathError, fmt.Sprintf("%d bytes", len(log)))

	r = plugintest.Run(t, bash, faultSeq) // no room for a single byte
	requireFaultSeq(t, r)
	assert.Contains(t, r.Stdout.PathError, "no space left on device")

	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(r.Stdout.Path), "1.stdout.log")))
	r = plugintest.Run(t, bash, "seq 5000")
	assert.Empty(t, r.Stdout.PathError, "there is room again")
	assert.Equal(t, plugintest.Seq(1, 5000), plugintest.ReadFile(t, r.Stdout.Path))
}

// While a job writes to a full disk, it goes on, and so does its account.
func TestFaultDiskFullUnderAJob(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: faultDisk(t, "128k")})
	job := plugintest.Background(t, bash, "seq 100000; echo middle; read -r; "+faultSeq)
	r := plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID, Wait: plugintest.Hang, All: true})
	assert.Equal(t, 7, r.ExitCode)
	assert.Equal(t, plugintest.Seq(198001, 200000), r.Stdout.Content)
	assert.EqualValues(t, 300001, r.Stdout.TotalLines)
	assert.Contains(t, r.Stdout.PathError, "no space left on device")
}

func TestFaultLogFolder(t *testing.T) {
	t.Parallel()
	t.Run("removed between commands", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir})
		first := plugintest.Run(t, bash, faultSeq)
		requireFaultSeq(t, first)
		require.NoError(t, os.RemoveAll(dir))
		r := plugintest.Run(t, bash, faultSeq)
		requireFaultSeq(t, r)
		assert.Empty(t, r.Stdout.PathError, "it is made again")
		assert.Equal(t, plugintest.Seq(1, 200000), plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("removed under a command", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		r := plugintest.Run(t, plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir}), "seq 100000; until [ -s "+dir+"/*/*.log ]; do sleep 0.01; done; rm -rf "+dir+"; seq 100001 200000; seq 3 >&2; exit 7")
		requireFaultSeq(t, r)
		assert.Contains(t, r.Stdout.PathError, "no such file")
	})
	t.Run("replaced by a file", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "logs")
		bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir})
		plugintest.Run(t, bash, faultSeq)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		r := plugintest.Run(t, bash, faultSeq)
		requireFaultSeq(t, r)
		assert.Contains(t, r.Stdout.PathError, "not a directory")
	})
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		dir := faultDisk(t, "1m")
		bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir})
		require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		r := plugintest.Run(t, bash, faultSeq)
		requireFaultSeq(t, r)
		assert.Empty(t, r.Stdout.Path)
		assert.Contains(t, r.Stdout.PathError, "read-only file system")
	})
}

// MaxLogBytes and the session's quota hold under endless output of many.
func TestFaultEndlessLogs(t *testing.T) {
	t.Parallel()
	const most, quota = 3 << 20, 10 << 20
	dir := t.TempDir()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir, MaxLogBytes: most, MaxSessionLogBytes: quota})
	var jobs []int
	for range 6 {
		jobs = append(jobs, plugintest.Background(t, bash, "yes & yes >&2").PID)
	}
	plugintest.Eventually(t, "the quota is used up", func() bool { return plugintest.DiskUse(t, dir) >= quota-1024 })
	plugintest.Run(t, bash, "seq 100000")
	sizes := map[int64]int{}
	for _, pid := range jobs {
		assert.True(t, plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Wait: plugintest.Hang, WaitFor: "y"}).Matched, "it goes on without a log")
		r := plugintest.Kill(t, bash, pid)
		for _, out := range []shared.Output{r.Stdout, r.Stderr} {
			if out.PathError != "" {
				assert.Regexp(t, `one log may hold|the logs of this session may hold`, out.PathError)
			}
			if info, err := os.Stat(out.Path); err == nil {
				assert.LessOrEqual(t, info.Size(), int64(most))
				assert.True(t, strings.HasPrefix(strings.Repeat("y\n", most/2), plugintest.ReadFile(t, out.Path)))
				sizes[info.Size()]++
			}
		}
	}
	assert.LessOrEqual(t, plugintest.DiskUse(t, dir), int64(quota))
	t.Logf("sizes of logs: %v", sizes)
}

// Others may make the default folder's name theirs before: nothing goes
// through their links or into their folders.
func TestFaultDefaultFolderIsAnothers(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("bash-plugin-%d", os.Getuid())
	for attack, prepare := range map[string]func(folder, target string) error{
		"a link":               func(folder, target string) error { return os.Symlink(target, folder) },
		"a folder open to all": func(folder, _ string) error { return errors.Join(os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777)) },
		"another user's folder": func(folder, _ string) error {
			return errors.Join(os.Mkdir(folder, 0o700), os.Chown(folder, 12345, 12345))
		},
		"a file":                 func(folder, _ string) error { return os.WriteFile(folder, nil, 0o600) },
		"a link to nowhere":      func(folder, target string) error { return os.Symlink(target+"/none", folder) },
		"a link to old sessions": faultOldSession,
	} {
		t.Run(attack, func(t *testing.T) {
			t.Parallel()
			temp, target := plugintest.ShortDir(t), t.TempDir()
			if err := prepare(filepath.Join(temp, name), target); err != nil {
				t.Skip("cannot attack here:", err)
			}
			before := plugintest.Files(t, target)
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, Env: []string{"TMPDIR=" + temp}})
			require.NoError(t, err)
			r := plugintest.Run(t, bash, faultSeq)
			requireFaultSeq(t, r)
			assert.Empty(t, r.Stdout.Path)
			assert.NotEmpty(t, r.Stdout.PathError)
			require.NoError(t, bash.Close())
			assert.Equal(t, before, plugintest.Files(t, target), "the attacker's target is untouched")
		})
	}
}

// faultOldSession makes folder a link to one in which a sweep would find
// something to remove.
func faultOldSession(folder, target string) error {
	session := filepath.Join(target, "session-1")
	err := errors.Join(os.Symlink(target, folder), os.Mkdir(session, 0o700),
		os.WriteFile(filepath.Join(session, ".lock"), []byte("1s"), 0o600),
		os.WriteFile(filepath.Join(session, "precious"), nil, 0o600))
	old := time.Now().Add(-1000 * time.Hour)
	for _, name := range []string{".lock", "precious", ""} {
		err = errors.Join(err, os.Chtimes(filepath.Join(session, name), old, old))
	}
	return err
}

// Logs outlive sessions for their retention, and no sweep touches a live
// session's, however old.
func TestFaultSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-1000 * time.Hour)
	age := func(log string) {
		folder := filepath.Dir(log)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, entry := range entries {
			require.NoError(t, os.Chtimes(filepath.Join(folder, entry.Name()), old, old))
		}
		require.NoError(t, os.Chtimes(folder, old, old))
	}
	live := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: time.Second})
	liveLog := plugintest.Run(t, live, "seq 5000").Stdout.Path
	age(liveLog)

	crashed := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: -1})
	crashedLog := plugintest.Run(t, crashed, "seq 5000").Stdout.Path
	plugin := crashed.PluginPID()
	guardian := plugintest.Guardian(t, plugin)
	require.NoError(t, unix.Kill(guardian, unix.SIGKILL)) // which would remove the log
	require.NoError(t, unix.Kill(plugin, unix.SIGKILL))
	plugintest.AwaitDeath(t, plugin, guardian)

	closed := func(retention time.Duration, aged bool) string {
		bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: retention})
		log := plugintest.Run(t, bash, "seq 5000").Stdout.Path
		require.NoError(t, bash.Close())
		if aged {
			age(log)
		}
		return log
	}
	young, expired, kept := closed(0, false), closed(0, true), closed(2000*time.Hour, true)
	foreign := filepath.Join(dir, "session-of-somebody-else")
	require.NoError(t, os.Symlink(t.TempDir(), foreign))

	sweeper := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir})
	plugintest.Eventually(t, "the sweep", func() bool {
		_, expiredErr := os.Stat(expired)
		_, crashedErr := os.Stat(crashedLog)
		return os.IsNotExist(expiredErr) && os.IsNotExist(crashedErr)
	})
	for _, log := range []string{liveLog, young, kept} {
		assert.Equal(t, plugintest.Seq(1, 5000), plugintest.ReadFile(t, log))
	}
	assert.NoDirExists(t, filepath.Dir(expired))
	_, err := os.Lstat(foreign)
	require.NoError(t, err)
	require.NoError(t, sweeper.Close())
	again := plugintest.Run(t, live, "seq 6000").Stdout
	assert.Empty(t, again.PathError)
	assert.Equal(t, plugintest.Seq(1, 6000), plugintest.ReadFile(t, again.Path))
}
