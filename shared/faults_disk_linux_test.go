package shared_test

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
	assert.Equal(t, seq(198001, 200000), r.Stdout.Content)
	assert.EqualValues(t, 200000, r.Stdout.TotalLines)
	assert.EqualValues(t, len(seq(1, 200000)), r.Stdout.TotalBytes)
	assert.Equal(t, seq(1, 3), r.Stderr.Content)
}

func TestFaultDiskFull(t *testing.T) {
	t.Parallel()
	dir := faultDisk(t, "256k")
	bash := launchWith(t, host.LaunchConfig{LogDir: dir})
	r := run(t, bash, faultSeq)
	requireFaultSeq(t, r)
	assert.Contains(t, r.Stdout.PathError, "no space left on device")
	log := readFile(t, r.Stdout.Path)
	assert.NotEmpty(t, log)
	assert.True(t, strings.HasPrefix(seq(1, 200000), log), "what the log holds is an unbroken beginning")
	assert.Contains(t, r.Stdout.PathError, fmt.Sprintf("%d bytes", len(log)))

	r = run(t, bash, faultSeq) // no room for a single byte
	requireFaultSeq(t, r)
	assert.Contains(t, r.Stdout.PathError, "no space left on device")

	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(r.Stdout.Path), "1.stdout.log")))
	r = run(t, bash, "seq 5000")
	assert.Empty(t, r.Stdout.PathError, "there is room again")
	assert.Equal(t, seq(1, 5000), readFile(t, r.Stdout.Path))
}

// While a job writes to a full disk, it goes on, and so does its account.
func TestFaultDiskFullUnderAJob(t *testing.T) {
	t.Parallel()
	bash := launchWith(t, host.LaunchConfig{LogDir: faultDisk(t, "128k")})
	job := background(t, bash, "seq 100000; echo middle; read -r; "+faultSeq)
	r := check(t, bash, shared.CheckRequest{PID: job.PID, Wait: hang, All: true})
	assert.Equal(t, 7, r.ExitCode)
	assert.Equal(t, seq(198001, 200000), r.Stdout.Content)
	assert.EqualValues(t, 300001, r.Stdout.TotalLines)
	assert.Contains(t, r.Stdout.PathError, "no space left on device")
}

func TestFaultLogFolder(t *testing.T) {
	t.Parallel()
	t.Run("removed between commands", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		bash := launchWith(t, host.LaunchConfig{LogDir: dir})
		first := run(t, bash, faultSeq)
		requireFaultSeq(t, first)
		require.NoError(t, os.RemoveAll(dir))
		r := run(t, bash, faultSeq)
		requireFaultSeq(t, r)
		assert.Empty(t, r.Stdout.PathError, "it is made again")
		assert.Equal(t, seq(1, 200000), readFile(t, r.Stdout.Path))
	})
	t.Run("removed under a command", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		r := run(t, launchWith(t, host.LaunchConfig{LogDir: dir}), "seq 100000; until [ -s "+dir+"/*/*.log ]; do sleep 0.01; done; rm -rf "+dir+"; seq 100001 200000; seq 3 >&2; exit 7")
		requireFaultSeq(t, r)
		assert.Contains(t, r.Stdout.PathError, "no such file")
	})
	t.Run("replaced by a file", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "logs")
		bash := launchWith(t, host.LaunchConfig{LogDir: dir})
		run(t, bash, faultSeq)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		r := run(t, bash, faultSeq)
		requireFaultSeq(t, r)
		assert.Contains(t, r.Stdout.PathError, "not a directory")
	})
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		dir := faultDisk(t, "1m")
		bash := launchWith(t, host.LaunchConfig{LogDir: dir})
		require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		r := run(t, bash, faultSeq)
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
	bash := launchWith(t, host.LaunchConfig{LogDir: dir, MaxLogBytes: most, MaxSessionLogBytes: quota})
	var jobs []int
	for range 6 {
		jobs = append(jobs, background(t, bash, "yes & yes >&2").PID)
	}
	eventually(t, "the quota is used up", func() bool { return faultDiskUse(t, dir) >= quota-1024 })
	run(t, bash, "seq 100000")
	sizes := map[int64]int{}
	for _, pid := range jobs {
		assert.True(t, check(t, bash, shared.CheckRequest{PID: pid, Wait: hang, WaitFor: "y"}).Matched, "it goes on without a log")
		r := kill(t, bash, pid)
		for _, out := range []shared.Output{r.Stdout, r.Stderr} {
			if out.PathError != "" {
				assert.Regexp(t, `one log may hold|the logs of this session may hold`, out.PathError)
			}
			if info, err := os.Stat(out.Path); err == nil {
				assert.LessOrEqual(t, info.Size(), int64(most))
				assert.True(t, strings.HasPrefix(strings.Repeat("y\n", most/2), readFile(t, out.Path)))
				sizes[info.Size()]++
			}
		}
	}
	assert.LessOrEqual(t, faultDiskUse(t, dir), int64(quota))
	t.Logf("sizes of logs: %v", sizes)
}

// faultDiskUse is the size of all logs below dir.
func faultDiskUse(t *testing.T, dir string) int64 {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*.log"))
	require.NoError(t, err)
	var sum int64
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil {
			sum += info.Size()
		}
	}
	return sum
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
			temp, target := shortDir(t), t.TempDir()
			if err := prepare(filepath.Join(temp, name), target); err != nil {
				t.Skip("cannot attack here:", err)
			}
			before := faultFiles(t, target)
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: pluginPath, Env: []string{"TMPDIR=" + temp}})
			require.NoError(t, err)
			r := run(t, bash, faultSeq)
			requireFaultSeq(t, r)
			assert.Empty(t, r.Stdout.Path)
			assert.NotEmpty(t, r.Stdout.PathError)
			require.NoError(t, bash.Close())
			assert.Equal(t, before, faultFiles(t, target), "the attacker's target is untouched")
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
	live := launchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: time.Second})
	liveLog := run(t, live, "seq 5000").Stdout.Path
	age(liveLog)

	crashed := launchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: -1})
	crashedLog := run(t, crashed, "seq 5000").Stdout.Path
	plugin := crashed.PluginPID()
	guardian := faultGuardian(t, plugin)
	require.NoError(t, unix.Kill(guardian, unix.SIGKILL)) // which would remove the log
	require.NoError(t, unix.Kill(plugin, unix.SIGKILL))
	awaitDeath(t, plugin, guardian)

	closed := func(retention time.Duration, aged bool) string {
		bash := launchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: retention})
		log := run(t, bash, "seq 5000").Stdout.Path
		require.NoError(t, bash.Close())
		if aged {
			age(log)
		}
		return log
	}
	young, expired, kept := closed(0, false), closed(0, true), closed(2000*time.Hour, true)
	foreign := filepath.Join(dir, "session-of-somebody-else")
	require.NoError(t, os.Symlink(t.TempDir(), foreign))

	sweeper := launchWith(t, host.LaunchConfig{LogDir: dir})
	eventually(t, "the sweep", func() bool {
		_, expiredErr := os.Stat(expired)
		_, crashedErr := os.Stat(crashedLog)
		return os.IsNotExist(expiredErr) && os.IsNotExist(crashedErr)
	})
	for _, log := range []string{liveLog, young, kept} {
		assert.Equal(t, seq(1, 5000), readFile(t, log))
	}
	assert.NoDirExists(t, filepath.Dir(expired))
	_, err := os.Lstat(foreign)
	require.NoError(t, err)
	require.NoError(t, sweeper.Close())
	again := run(t, live, "seq 6000").Stdout
	assert.Empty(t, again.PathError)
	assert.Equal(t, seq(1, 6000), readFile(t, again.Path))
}
