package program_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/program"
)

func TestMain(m *testing.M) {
	program.Run() // Example makes this test program a host
	os.Exit(m.Run())
}

const (
	hang = time.Minute // bounds every wait
	poll = 5 * time.Millisecond
)

// build makes a program of the Example, with another command.
func build(t *testing.T, command string) string {
	t.Helper()
	text, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	source := strings.NewReplacer("package program_test", "package main", "func Example()", "func main()", "echo hello", command).Replace(string(text))
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(main, []byte(source), 0o600))
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "host"), main).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "host")
}

// start starts a program that has temp as its folder for temporary files.
func start(t *testing.T, path, temp string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	require.NoError(t, cmd.Start())
	return cmd
}

// processes counts the live processes that have temp in their environment: host,
// plugin, guardian and commands.
func processes(t *testing.T, temp string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	count := 0
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		if strings.Contains(string(text), "TMPDIR="+temp+"\x00") {
			count++
		}
	}
	return count
}

func TestAHostAsOneBinaryLeavesNothing(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("the test looks for processes in /proc")
	}
	temp, err := os.MkdirTemp("/tmp", "b") // short, for the plugin's socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(temp) })
	ready := filepath.Join(temp, "ready")
	host := start(t, build(t, "sleep 1000 & setsid sleep 1000 & echo >"+ready+"; wait"), temp)
	require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, hang, poll, "the command")
	assert.Equal(t, 6, processes(t, temp), "host, plugin, guardian, bash and two sleeps")
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	require.Eventually(t, func() bool { return processes(t, temp) == 0 }, hang, poll, "the end of all processes")
	require.NoError(t, os.Remove(ready))
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAHostAsOneBinaryClosesWell(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(build(t, "echo $PPID; cat /proc/$PPID/comm; exit 3")).Output()
	require.NoError(t, err)
	assert.Regexp(t, `^\d+\nhost\n$`, string(out), "the plugin is the host's own program")
}
