package confinement

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// changesLogs is a confinement with which the commands of a yard may change their logs.
var changesLogs = &shared.Confine{ReadOnly: true, Writable: []string{"."}, Private: true}

// launchLogging starts a plugin whose logs lie inside, where its commands may change them.
func launchLogging(t *testing.T, y *plugintest.Yard, cfg host.LaunchConfig) *host.Client {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cfg.Path, cfg.Dir = self, y.Inside
	cfg.Env = append(y.Env, "OUT="+y.Outside, "LOGS="+cfg.LogDir, "ABOVE="+filepath.Dir(cfg.LogDir))
	return plugintest.LaunchWith(t, cfg)
}

// logAttack is what a command does to its logs: mv to $MOVED, if it moves them.
type logAttack struct {
	name, command string
	needsLog      bool // it works where there is a log already
	spares        bool // it changes nothing of its own session
}

var logAttacks = []logAttack{
	{name: "a link in place of the session's folder", command: `S=$(echo $LOGS/session-*); mv $S $MOVED && ln -s $OUT $S`, needsLog: true},
	{name: "a link in place of the folder of logs", command: `mv $LOGS $MOVED && ln -s $OUT $LOGS`},
	{name: "a link in place of the folder above", command: `mv $ABOVE $MOVED && ln -s $OUT $ABOVE`},
	{name: "the session's folder moves", command: `mv $LOGS/session-* $MOVED`, needsLog: true},
	{name: "the folder of logs goes", command: `rm -r $LOGS && ln -s $OUT $LOGS`},
	{name: "the folder above goes", command: `rm -r $ABOVE && ln -s $OUT $ABOVE`},
	{name: "links in place of logs", command: `ln -sf $OUT/file $LOGS/session-*/1.stdout.log && ln -sf $OUT/file $LOGS/session-*/2.stdout.log`, needsLog: true},
	{name: "links in place of logs to come", command: `cd $LOGS/session-* && ln -s $OUT/new 5.stdout.log`, needsLog: true},
	{name: "hard links in place of logs", command: `ln -f file $LOGS/session-*/1.stdout.log && ln -f file $LOGS/session-*/2.stdout.log`, needsLog: true},
	{name: "FIFOs in place of logs", command: `cd $LOGS/session-* && rm *.log && mkfifo 1.stdout.log 2.stdout.log`, needsLog: true},
	{name: "folders in place of logs", command: `cd $LOGS/session-* && rm *.log && mkdir 1.stdout.log 2.stdout.log`, needsLog: true},
	{name: "a FIFO in place of the session's folder", command: `S=$(echo $LOGS/session-*); mv $S $MOVED && mkfifo $S`, needsLog: true},
	{name: "a FIFO in place of the folder of logs", command: `mv $LOGS $MOVED && mkfifo $LOGS`},
	{name: "a FIFO as the lock of another session", command: `mkdir -p $LOGS/session-1 && mkfifo $LOGS/session-1/.lock`, spares: true},
	{name: "a FIFO as another session", command: `mkdir -p $LOGS && mkfifo $LOGS/session-1`, spares: true},
	{name: "a link as another session", command: `mkdir -p $LOGS && ln -s $OUT $LOGS/session-1`, spares: true},
}

// Whatever a command does to its logs, the plugin writes nothing where the command may
// not, shows nothing of what the command may not read, and is honest about each log.
func TestACommandChangesItsLogsAlone(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		outside, n := y.Look(t), 0
		for _, attack := range logAttacks {
			for _, when := range []string{"with logs", "before the first log", "before the first log, confined by the request"} {
				if attack.needsLog && when != "with logs" {
					continue
				}
				n++
				t.Run(attack.name+" "+when, func(t *testing.T) { attackLogs(t, y, n, attack, when) })
				require.Equal(t, outside, y.Look(t), "%s %s", attack.name, when)
			}
		}
	})
}

func attackLogs(t *testing.T, y *plugintest.Yard, n int, attack logAttack, when string) {
	ctx, cancel := context.WithTimeout(t.Context(), plugintest.Hang)
	defer cancel()
	above, moved := filepath.Join(y.Inside, fmt.Sprint(n)), filepath.Join(y.Inside, fmt.Sprint("moved", n))
	cfg := host.LaunchConfig{LogDir: filepath.Join(above, "logs"), Confine: changesLogs}
	confine := (*shared.Confine)(nil)
	if strings.HasSuffix(when, "by the request") {
		cfg.Confine, confine = nil, changesLogs
	}
	bash := launchLogging(t, y, cfg)
	execute := func(command string, mode shared.Mode) *shared.Result {
		r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: command, Mode: mode, Env: []string{"MOVED=" + moved}, Confine: confine})
		require.NoError(t, err)
		return r
	}
	check := func(pid int, limits shared.Limits) *shared.Result {
		r, err := bash.Check(ctx, shared.CheckRequest{PID: pid, All: true, Wait: plugintest.Hang, WaitFor: `^30000$`, Limits: limits})
		require.NoError(t, err)
		assert.True(t, r.Matched)
		return r
	}

	var jobs []int
	if when == "with logs" {
		ended := execute("seq 30000", shared.ModeBackground).PID
		plugintest.AwaitOver(t, bash, ended)
		running := execute("seq 15000; until [ -e go ]; do sleep 0.01; done; rm go; seq 15001 30000; "+plugintest.Forever, shared.ModeBackground).PID
		plugintest.AwaitText(t, bash, running, "15000")
		jobs = append(jobs, ended, running)
	}
	r := execute(attack.command, "")
	require.Equal(t, shared.StatusCompleted, r.Status, r.Stderr.Content)
	if when == "with logs" {
		execute("touch go", "")
	}
	jobs = append(jobs, execute("seq 30000", shared.ModeBackground).PID)
	for _, pid := range jobs {
		for _, limits := range []shared.Limits{{MaxBytes: 150_000, MaxLines: -1}, {MaxBytes: 1000, Notable: 10}, {MaxBytes: 2000, Ends: 1000}} {
			r := check(pid, limits)
			assert.NotContains(t, fmt.Sprint(r.Stdout.Head, r.Stdout.Content, r.Stdout.Notable), "secret")
			assert.True(t, strings.HasSuffix(r.Stdout.Content, "\n29999\n30000\n"))
			assert.EqualValues(t, 30000, r.Stdout.TotalLines)
			assertHonest(t, r, moved)
			if attack.spares {
				assert.Empty(t, r.Stdout.PathError)
			}
		}
	}
	require.NoError(t, bash.Close())
}

// assertHonest asserts that the log at a Result's path, and where a command has moved it,
// is what the Result says.
func assertHonest(t *testing.T, r *shared.Result, moved string) {
	t.Helper()
	if r.Stdout.PathError == "" {
		info, err := os.Lstat(r.Stdout.Path)
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular(), "%v", info.Mode())
		assert.True(t, plugintest.Seq(1, 30000) == plugintest.ReadFile(t, r.Stdout.Path), "the log is complete")
	} else if _, err := os.Lstat(moved); err == nil {
		for _, path := range logsBelow(t, moved) {
			if filepath.Base(path) == filepath.Base(r.Stdout.Path) {
				assert.True(t, plugintest.Seq(1, 30000) == plugintest.ReadFile(t, path), "the log goes on where it was moved")
			}
		}
	}
}

// With a negative retention logs are removed where they were moved, too, and nothing is
// removed where a link leads, whether the plugin closes or is killed.
func TestMovedLogsAreRemoved(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		old := "mkdir -p $OUT/session-1 && echo -1ns >$OUT/session-1/.lock && touch $OUT/session-1/log"
		require.Equal(t, shared.StatusCompleted, plugintest.Run(t, y.Launch(t, nil), old).Status)
		outside := y.Look(t)
		for i, attack := range logAttacks[:3] {
			for _, killed := range []bool{false, true} {
				above := filepath.Join(y.Inside, fmt.Sprintf("%d-%v", i, killed))
				bash := launchLogging(t, y, host.LaunchConfig{LogDir: filepath.Join(above, "logs"), Confine: changesLogs, LogRetention: -1})
				guardian, moved := awaitGuardian(t, bash.PluginPID(), filepath.Join(above, "logs")), above+"moved"
				plugintest.Run(t, bash, "seq 30000")
				r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: attack.command, Env: []string{"MOVED=" + moved}})
				require.Equal(t, shared.StatusCompleted, r.Status, r.Stderr.Content)
				plugintest.Run(t, bash, "seq 30000")
				if killed && i > 0 { // the guardian does not know where a single session's folder has gone
					plugintest.Crash(t, bash)
					plugintest.AwaitDeath(t, guardian)
				}
				require.NoError(t, bash.Close())
				if !killed || i > 0 {
					assert.Empty(t, logsBelow(t, moved), "%s, killed: %v", attack.name, killed)
				}
				assert.Equal(t, outside, y.Look(t), "%s, killed: %v", attack.name, killed)
			}
		}
	})
}

// logsBelow lists the files below a folder.
func logsBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// awaitGuardian returns a plugin's guardian once it has opened the folder of logs.
func awaitGuardian(t *testing.T, plugin int, logs string) int {
	t.Helper()
	guardian := plugintest.Guardian(t, plugin)
	plugintest.Eventually(t, "the guardian to open "+logs, func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", guardian))
		return slices.ContainsFunc(files, func(file string) bool {
			place, _ := os.Readlink(file)
			return place == logs
		})
	})
	return guardian
}

// The last words of a plugin that crashes are kept in its folder of logs, wherever that is.
func TestLastWordsGoWhereLogsWere(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		outside := y.Look(t)
		for i, attack := range logAttacks[1:3] {
			above := filepath.Join(y.Inside, fmt.Sprint(i))
			bash := launchLogging(t, y, host.LaunchConfig{LogDir: filepath.Join(above, "logs"), Confine: changesLogs})
			plugin, moved := bash.PluginPID(), above+"moved"
			guardian := awaitGuardian(t, plugin, filepath.Join(above, "logs"))
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: attack.command, Env: []string{"MOVED=" + moved}})
			require.Equal(t, shared.StatusCompleted, r.Status, r.Stderr.Content)
			require.NoError(t, syscall.Kill(plugin, syscall.SIGABRT))
			plugintest.AwaitDeath(t, plugin, guardian)
			assert.Equal(t, outside, y.Look(t), attack.name)
			kept := logsBelow(t, moved)
			require.NotEmpty(t, kept)
			assert.Equal(t, "crash.txt", filepath.Base(kept[len(kept)-1]))
		}
	})
}

// The default folder, with -writable for the folder that holds it, as in -writable /tmp.
func TestTheDefaultFolderOfLogsIsReplaced(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		temp := filepath.Join(y.Inside, "t")
		require.NoError(t, errors.Join(os.Mkdir(temp, 0o700), os.Chown(temp, y.UID, -1)))
		folder := filepath.Join(temp, fmt.Sprintf("bash-plugin-%d", y.UID))
		outside := y.Look(t)
		self, err := os.Executable()
		require.NoError(t, err)
		for range 2 { // in the second session, the link is there from the beginning
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: self, Dir: y.Inside, Env: append(y.Env, "TMPDIR="+temp, "OUT="+y.Outside), Confine: changesLogs})
			require.NoError(t, err)
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "chmod 700 $OUT; mv -T $F $F.moved; ln -sT $OUT $F", Env: []string{"F=" + folder}})
			require.NotEmpty(t, r.PID)
			r = plugintest.Run(t, bash, "seq 30000")
			assert.NotEmpty(t, r.Stdout.PathError)
			require.NoError(t, bash.Close())
			assert.Equal(t, outside, y.Look(t))
		}
	})
}

// wreck does what comes to its mind to the logs, as long as it may.
const wreck = `
import random, shutil, fcntl
dice = random.Random(%d)
logs, above, out = os.environ['LOGS'], os.environ['ABOVE'], os.environ['OUT']
locks = []
def some(folder):
    return os.path.join(folder, dice.choice(os.listdir(folder)))
def away(path):
    os.rename(path, 'away-%%d' %% dice.getrandbits(60))
def aside():
    return dice.choice([name for name in os.listdir('.') if name.startswith('away-')])
def back(path):
    away(path)
    os.rename(aside(), path)
def link(path):
    away(path)
    os.symlink(dice.choice([out, out + '/file', out + '/new']), path)
def fifo(path):
    away(path)
    os.mkfifo(path)
def folder(path):
    away(path)
    os.mkdir(path)
def hardlink(path):
    away(path)
    os.link('file', path)
def gone(path):
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
def locked(path):
    file = open(path, 'r+')
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    locks.append(file)
def unlocked(path):
    locks.pop().close()
targets = [lambda: above, lambda: logs, lambda: some(logs), lambda: some(logs) + '/.lock', lambda: some(some(logs)), aside]
deeds = [away, back, back, link, link, fifo, folder, hardlink, gone, gone, locked, locked, unlocked]
while True:
    for deed in dice.choice(deeds), os.makedirs:
        try:
            deed(dice.choice(targets)() if deed != os.makedirs else logs)
        except (OSError, IndexError):
            pass
`

// A command that wrecks the logs while others write them costs them their logs at most.
func TestACommandWrecksTheLogs(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		outside := y.Look(t)
		ctx, cancel := context.WithTimeout(t.Context(), plugintest.Hang)
		defer cancel()
		bash := launchLogging(t, y, host.LaunchConfig{LogDir: filepath.Join(y.Inside, "above", "logs"), Confine: changesLogs})
		for seed := range 3 {
			plugintest.Background(t, bash, plugintest.Python(t, fmt.Sprintf(wreck, seed)))
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "echo error; seq 30000", Limits: shared.Limits{MaxBytes: 2000, Ends: 1000, Notable: 10}})
					if !assert.NoError(t, err) {
						return
					}
					assert.EqualValues(t, 30001, r.Stdout.TotalLines)
					assert.True(t, strings.HasSuffix(r.Stdout.Content, "\n29999\n30000\n"))
					assert.NotContains(t, fmt.Sprint(r.Stdout.Head, r.Stdout.Content, r.Stdout.Notable), "secret")
				}
			})
		}
		wg.Wait()
		assert.Equal(t, outside, y.Look(t))
		wrecks, _ := filepath.Glob(filepath.Join(y.Inside, "away-*"))
		assert.NotEmpty(t, wrecks)
	})
}

// A log that is finished holds no descriptor of the plugin.
func TestFinishedLogsHoldNoDescriptor(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	job := func() {
		pid := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 30000", Mode: shared.ModeBackground}).PID
		plugintest.AwaitOver(t, bash, pid)
		plugintest.Check(t, bash, shared.CheckRequest{PID: pid, All: true, Limits: shared.Limits{MaxBytes: 150_000, MaxLines: -1}})
	}
	job()
	before := plugintest.Descriptors(t, bash.PluginPID())
	for range 20 {
		job()
	}
	plugintest.Eventually(t, "no more descriptors than before", func() bool { return plugintest.Descriptors(t, bash.PluginPID()) <= before })
}
