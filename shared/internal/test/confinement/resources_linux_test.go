package confinement

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// bomb is a fork bomb that goes out by itself: 2,047 processes, each of which stays.
const bomb = `b() { if (( $1 )); then b $(($1-1)) | b $(($1-1)) & wait; else sleep 60; fi; }; b 9`

// takes is a command that takes so many MiB, says so and stays.
func takes(mib int) string {
	return fmt.Sprintf("/usr/bin/python3 -c 'import time; x = bytearray(%d << 20); print(\"has it\", flush=True); time.sleep(1000)'", mib)
}

// limited is eachUser for a test of limits.
func limited(t *testing.T, test func(t *testing.T, y *plugintest.Yard)) {
	t.Helper()
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip("there is no /usr/bin/python3")
	}
	plugintest.EachUser(t, test)
}

func TestResources(t *testing.T) { testResources(t, 320, false) }

// testResources lets commands exceed each limit, one of memory by a process that takes most MiB.
// With cgroups the kernel keeps a command from having too many processes.
func testResources(t *testing.T, most int, cgroups bool) {
	t.Parallel()
	limited(t, func(t *testing.T, y *plugintest.Yard) {
		t.Parallel()
		bash := y.Launch(t, nil)
		memory, each := int64(most)<<20/4, most/40
		for name, c := range map[string]struct {
			command   string
			resources shared.Resources
			cause     shared.Cause
			says      string
		}{
			"one process":      {takes(most), shared.Resources{Memory: memory}, shared.CauseMemory, "of memory, .* allowed"},
			"many processes":   {"for i in {1..40}; do " + takes(each) + " & done; wait", shared.Resources{Memory: memory}, shared.CauseMemory, "of memory, .* allowed"},
			"processor time":   {"while :; do :; done", shared.Resources{CPU: 300 * time.Millisecond}, shared.CauseCPU, "of processor time, 300ms allowed"},
			"of children":      {"while :; do /bin/true; done", shared.Resources{CPU: 300 * time.Millisecond}, shared.CauseCPU, "of processor time, 300ms allowed"},
			"a fork bomb":      {bomb, shared.Resources{Processes: 200}, shared.CauseProcesses, `had \d+ processes at a time, 200 allowed`},
			"setsid":           {"for i in {1..300}; do setsid sleep 1000 & done; wait", shared.Resources{Processes: 200}, shared.CauseProcesses, `had \d+ processes at a time, 200 allowed`},
			"an endless file":  {"exec cat /dev/zero >file", shared.Resources{Disk: 1 << 20}, shared.CauseDisk, "a file of more than 1048576 bytes"},
			"by a child":       {"cat /dev/zero >file", shared.Resources{Disk: 1 << 20}, shared.CauseDisk, "a file of more than 1048576 bytes"},
			"all, and a limit": {"cat /dev/zero >file", shared.Resources{Memory: 1 << 30, CPU: time.Hour, Processes: 100, Disk: 1 << 20}, shared.CauseDisk, "1048576 bytes"},
		} {
			t.Run(name, func(t *testing.T) {
				if cgroups && c.cause == shared.CauseProcesses {
					t.Skip("fork fails there")
				}
				stop := answers(t, bash)
				r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: c.command, Resources: c.resources, Timeout: plugintest.Hang, Mode: shared.ModeTerminate})
				stop()
				assert.Equal(t, shared.StatusKilled, r.Status, "%s", r)
				assert.Equal(t, c.cause, r.Cause)
				assert.Regexp(t, c.says, r.Exceeded)
				assert.Empty(t, r.Leftover)
				assert.Equal(t, syscall.ESRCH, syscall.Kill(-r.PID, 0), "nothing is left")
				switch c.cause {
				case shared.CauseMemory:
					assert.GreaterOrEqual(t, r.Usage.MaxMemory, memory*99/100)
				case shared.CauseCPU:
					assert.GreaterOrEqual(t, r.Usage.CPU, c.resources.CPU)
				case shared.CauseProcesses:
					assert.Greater(t, r.Usage.MaxProcesses, 200)
				case shared.CauseDisk:
					info, err := os.Stat(filepath.Join(y.Inside, "file"))
					require.NoError(t, err)
					assert.Equal(t, int64(1<<20), info.Size())
				}
			})
		}
	})
}

// answers makes calls until the function that it returns is called.
func answers(t *testing.T, bash shared.Bash) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-end:
				return
			case <-time.After(10 * time.Millisecond):
				_, err := bash.Check(t.Context(), shared.CheckRequest{PID: shared.AllJobs})
				assert.NoError(t, err)
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(end)
		wg.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// What a command uses within its limits is in its Results, within 20 % of the truth.
func TestUsageOfATree(t *testing.T) { testUsage(t, 100, 50) }

// testUsage uses large MiB, and ten times small MiB.
func testUsage(t *testing.T, large, small int) {
	limited(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, nil)
		for name, c := range map[string]struct {
			command           string
			memory, processes float64
		}{
			"one process":   {takes(large), float64((large + 8) << 20), 1},
			"ten processes": {"for i in {1..10}; do " + takes(small) + " & done; wait", float64(10 * (small + 5) << 20), 11},
			"many small":    {"for i in {1..100}; do sleep 1000 & done; wait", 0, 101},
		} {
			t.Run(name, func(t *testing.T) {
				if c.processes == 11 && small == 0 {
					t.Skip("only where it is quick")
				}
				job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: c.command, Mode: shared.ModeBackground, Resources: shared.Resources{Memory: 8 << 30}})
				plugintest.Eventually(t, "the figures of "+name, func() bool {
					u := plugintest.Check(t, bash, shared.CheckRequest{PID: job.PID}).Usage
					near := func(figure, truth float64) bool { return figure > 0.8*truth && (truth == 0 || figure < 1.2*truth) }
					return near(float64(u.MaxMemory), c.memory) && near(float64(u.MaxProcesses), c.processes)
				})
				r := plugintest.Kill(t, bash, job.PID)
				if c.memory == 0 { // they share nearly all
					assert.Less(t, r.Usage.MaxMemory, int64(60<<20))
				} else {
					assert.InEpsilon(t, c.memory, float64(r.Usage.MaxMemory), 0.2)
				}
			})
		}
	})
}

// Without limits nobody looks: what was reaped counts.
func TestUsageWithoutLimits(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Run(t, bash, "for i in 1 2; do (i=0; while ((i < 100000)); do ((i += 1)); done); done; head -c 200M /dev/zero | tail -n 1 | wc -c")
	assert.InDelta(t, 200<<20, float64(r.Usage.MaxMemory), 100<<20)
	assert.Positive(t, r.Usage.CPU)
	assert.Zero(t, r.Usage.MaxProcesses)
	assert.Less(t, plugintest.Run(t, bash, "true").Usage.MaxMemory, int64(16<<20), "nothing of the plugin's own")
}

// Processes that a command left running have limits, too.
func TestResourcesOfLeftovers(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: plugintest.Forever + " & " + plugintest.Forever + " & read -t 0.5 <> <(:); for i in {1..100}; do " + plugintest.Forever + " & done", Resources: shared.Resources{Processes: 50}})
	if r.Leftover != nil {
		plugintest.Eventually(t, "the end of the left-over processes", func() bool {
			r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID})
			return r.Leftover == nil
		})
	}
	assert.Regexp(t, "processes at a time, 50 allowed", r.Exceeded)
}

// A program that handles SIGXFSZ sees the error.
func TestDiskIsAnErrorToo(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Dir: t.TempDir(), Resources: shared.Resources{Disk: 1 << 20}})
	r := plugintest.Run(t, bash, "trap '' XFSZ; cat /dev/zero >file; stat -c %s file; exit 3")
	assert.Equal(t, shared.StatusFailed, r.Status)
	assert.Equal(t, "1048576\n", r.Stdout.Content)
	plugintest.Says(t, r, "File too large")
	r = plugintest.Run(t, bash, "head -c 4M /dev/zero")
	assert.Equal(t, int64(4<<20), r.Stdout.Dropped, "its output is no file")
}

func TestARequestLowersItsSessionsResources(t *testing.T) {
	t.Parallel()
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Resources: shared.Resources{Memory: 4 << 30, CPU: time.Hour, Processes: 500, Disk: 1 << 30}})
	r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "ulimit -f", Resources: shared.Resources{Disk: 1 << 20}})
	assert.Equal(t, "1024\n", r.Stdout.Content)
	assert.Equal(t, "1048576\n", plugintest.Run(t, bash, "ulimit -f").Stdout.Content)
	for field, c := range map[string]struct {
		resources shared.Resources
		says      string
	}{
		"Resources.Memory":    {shared.Resources{Memory: 5 << 30}, "5 GiB: use 0 for the session's, or at most 4 GiB"},
		"Resources.CPU":       {shared.Resources{CPU: 2 * time.Hour}, "2h0m0s: use 0 for the session's, or at most 1h0m0s"},
		"Resources.Processes": {shared.Resources{Processes: 501}, "501: use 0 for the session's, or at most 500"},
		"Resources.Disk":      {shared.Resources{Disk: -1}, "-1 bytes: use 0 for the session's, or at most 1 GiB"},
	} {
		_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Resources: c.resources})
		e := plugintest.RequireCode(t, err, shared.ErrInvalid)
		assert.Equal(t, field, e.Field)
		assert.Contains(t, e.Message, c.says)
	}
	_, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, Resources: shared.Resources{CPU: -1}})
	assert.Equal(t, "Resources.CPU", plugintest.RequireCode(t, err, shared.ErrInvalid).Field)
}

// Limits and a confinement hold together, and only for the command.
func TestLimitsAreOfTheCommandAlone(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, nil)
		before := plugintest.ReadFile(t, fmt.Sprintf("/proc/%d/limits", bash.PluginPID()))
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "ulimit -d; ulimit -f; (ulimit -d); echo x >$OUT/file; kill -0 $$",
					Resources: shared.Resources{Memory: 1 << 30, Disk: 1 << 20, Processes: 100, CPU: time.Hour}, Confine: &shared.Confine{ReadOnly: true, Private: true, NoNetwork: true}})
				assert.Equal(t, "6291456\n1024\n6291456\n", r.Stdout.Content)
				assert.Contains(t, r.Stderr.Content, "file: Permission denied")
				assert.Equal(t, shared.StatusCompleted, r.Status)
			})
			wg.Go(func() { assert.Equal(t, "unlimited\n", plugintest.Run(t, bash, "ulimit -f").Stdout.Content) })
		}
		wg.Wait()
		plugintest.Eventually(t, "the plugin's own limits", func() bool {
			return plugintest.ReadFile(t, fmt.Sprintf("/proc/%d/limits", bash.PluginPID())) == before
		})
	})
}

// Where the plugin may not trace its commands, it says so.
func TestResourcesWithoutPtrace(t *testing.T) {
	t.Parallel()
	y := plugintest.NewYard(t, os.Getuid())
	y.Env = append(y.Env, plugintest.LacksEnv+"="+strconv.Itoa(unix.SYS_PTRACE))
	bash := y.Launch(t, nil)
	_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Resources: shared.Resources{Disk: 1 << 20}})
	assert.Contains(t, plugintest.RequireCode(t, err, shared.ErrStart).Message, "ptrace")
	assert.Equal(t, shared.StatusCompleted, plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "true", Resources: shared.Resources{CPU: time.Hour}}).Status)
}

// ---- with cgroups ----

// needsCgroups skips a test where the plugin cannot make any.
func needsCgroups(t *testing.T) {
	t.Helper()
	if r := plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{Command: "cat /proc/self/cgroup", Resources: shared.Resources{Memory: 1 << 30}}); !strings.Contains(r.Stdout.Content, "/bash-plugin-") {
		t.Skip("this user cannot make cgroups with the controllers memory and pids")
	}
}

func TestCgroupResources(t *testing.T) {
	needsCgroups(t)
	testResources(t, 160, true)
	limited(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, nil)
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "for i in {1..20}; do sleep 1 & done; wait", Resources: shared.Resources{Processes: 10}, Timeout: plugintest.Hang, Mode: shared.ModeTerminate})
		plugintest.Says(t, r, "Resource temporarily unavailable")
		assert.Equal(t, 10, r.Usage.MaxProcesses)
		job := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: bomb, Mode: shared.ModeBackground, Resources: shared.Resources{Processes: 100}})
		plugintest.Kill(t, bash, job.PID)
		plugintest.Eventually(t, "the end of the cgroups", func() bool {
			left, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/delegated/bash-plugin-%d-*", bash.PluginPID()))
			return len(left) == 0
		})
	})
}

func TestCgroupUsage(t *testing.T) {
	needsCgroups(t)
	testUsage(t, 60, 0)
}

func TestCgroupsOfAKilledPluginAreRemoved(t *testing.T) {
	needsCgroups(t)
	req := shared.ExecuteRequest{Command: "sed 's/.*:://' /proc/self/cgroup; " + plugintest.Forever, Resources: shared.Resources{Memory: 1 << 30}, Mode: shared.ModeBackground}
	bash := plugintest.Launch(t)
	job := plugintest.Execute(t, bash, req)
	dir := "/sys/fs/cgroup" + strings.TrimSpace(plugintest.AwaitText(t, bash, job.PID, "bash-plugin-").Stdout.Content)
	assert.DirExists(t, dir)
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
	plugintest.AwaitDeath(t, job.PID)
	plugintest.Eventually(t, "the end of "+dir, func() bool { // its plugin may be a zombie for a moment
		plugintest.Execute(t, plugintest.Launch(t), shared.ExecuteRequest{Command: "true", Resources: shared.Resources{Memory: 1 << 30}})
		_, err := os.Stat(dir)
		return err != nil
	})
}
